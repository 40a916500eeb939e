/* A chain of processes: each forks the next and leaves; the second argument is "own" if each is to
   be in a session of its own. It ends after 90 s. A process of a few microseconds is hardly ever
   seen in /proc: it shows by a counter in the file that the first argument names, without which
   it ends. */
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **words) {
  int own = count > 2 && !strcmp(words[2], "own");
  int beat = open(words[1], O_CREAT | O_WRONLY, 0666);
  long hops = 0;
  time_t end = time(0) + 90;
  while (time(0) < end && !access(words[1], F_OK)) {
    if (fork()) _exit(0);
    if (own) setsid();
    hops++;
    if (pwrite(beat, &hops, sizeof hops, 0) < 0) return 1;
  }
  return 0;
}
