// LSA as one would write it by hand: Bernoulli rewards, threshold 1/2, eight replications side by
// side in vector registers, halves of logarithms from a table. Prints nanoseconds a round.
//
//     c++ -O3 -march=native lsa.cpp -o lsa && ./lsa ARMS HORIZON REPLICATIONS

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

constexpr int LANES = 8;
constexpr std::uint64_t WALK = 0x9E3779B97F4A7C15ULL;

static inline std::uint64_t mix(std::uint64_t word) {  // SplitMix64
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
    return word ^ (word >> 31);
}

int main(int count, char** words) {
    if (count != 4) return 1;
    const int arms = std::atoi(words[1]), replications = std::atoi(words[3]);
    const std::int64_t horizon = std::atoll(words[2]);
    std::vector<double> half_log(horizon + 2);
    for (std::int64_t n = 1; n < horizon + 2; n++) half_log[n] = 0.5 * std::log(double(n));
    std::vector<std::uint64_t> chance(arms);
    for (int arm = 0; arm < arms; arm++)
        chance[arm] = std::uint64_t((0.2 + 0.6 * (arm + 0.5) / arms) * 0x1p64);
    std::vector<double> total(arms * LANES), key(arms * LANES);
    std::vector<std::int64_t> pulls(arms * LANES);
    std::uint64_t stream[LANES];
    double wrong = 0.0;
    const std::clock_t begun = std::clock();
    for (int first = 0; first < replications; first += LANES) {
        for (int lane = 0; lane < LANES; lane++) stream[lane] = mix(mix(1) + (first + lane) * WALK);
        for (int arm = 0; arm < arms; arm++)
            for (int lane = 0; lane < LANES; lane++) {
                const int cell = arm * LANES + lane;
                total[cell] = mix(stream[lane] += WALK) < chance[arm];
                pulls[cell] = 1;
                const double excess = total[cell] - 0.5;
                key[cell] = 1.35 * excess * excess;
            }
        for (std::int64_t t = arms; t < horizon; t++) {
            alignas(64) double least[LANES];
            alignas(64) std::int64_t place[LANES];
            for (int lane = 0; lane < LANES; lane++) least[lane] = key[lane], place[lane] = 0;
            for (int arm = 1; arm < arms; arm++)
#pragma GCC ivdep
                for (int lane = 0; lane < LANES; lane++) {
                    const double now = key[arm * LANES + lane];
                    const bool less = now < least[lane];
                    least[lane] = less ? now : least[lane];
                    place[lane] = less ? arm : place[lane];
                }
#pragma GCC ivdep
            for (int lane = 0; lane < LANES; lane++) {
                const std::int64_t cell = place[lane] * LANES + lane;
                total[cell] += mix(stream[lane] += WALK) < chance[place[lane]];
                const double n = double(++pulls[cell]), excess = total[cell] - 0.5 * n;
                key[cell] = 1.35 * excess * excess / n + half_log[pulls[cell]];
            }
        }
        for (int cell = 0; cell < arms * LANES; cell++)
            wrong += (chance[cell / LANES] >= 1ULL << 63) != (2.0 * total[cell] >= pulls[cell]);
    }
    const double taken = double(std::clock() - begun) / CLOCKS_PER_SEC * 1e9;
    std::printf("%.3f %g\n", taken / double(horizon) / replications, wrong / replications);
}
