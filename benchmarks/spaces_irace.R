# irace as a child of benchmarks.spaces: Rscript spaces_irace.R PARAMETERS INSTANCES SECONDS SEED CAPS
# (Debian: r-cran-irace). It asks for runs on its output, a line each: "run" or "best", values,
# instance and limit; the answer on its input is the cost of the run, and its seconds.
suppressMessages(library(irace))
arguments <- commandArgs(TRUE)
input <- file("stdin", "r")
output <- file("/dev/fd/1", "w") # not stdout(), to which irace prints
ask <- function(...) {
  cat(paste(...), "\n", sep = "", file = output)
  flush(output)
  as.numeric(strsplit(readLines(input, 1), " ")[[1]])
}
lines <- readLines(arguments[1]) # the parameters, an empty line, and a table with the default
end <- which(lines == "")
parameters <- readParameters(text = lines[seq_len(end - 1)], digits = 4)
table <- tempfile()
writeLines(lines[-seq_len(end)], table)
as_text <- function(row) {
  values <- sapply(parameters$names, function(name) as.character(row[[name]]))
  paste(parameters$names, values, sep = "=", collapse = ",")
}
run <- function(experiment, scenario) {
  bound <- experiment$bound
  if (is.null(bound) || is.na(bound)) bound <- 1
  answer <- ask("run", as_text(experiment$configuration), experiment$id.instance, bound)
  list(cost = answer[1], time = answer[2], call = "")
}
instances <- max(2, as.integer(arguments[2])) # irace wants two: one is told twice
has_caps <- arguments[5] == "1"
caps <- if (has_caps) list(boundMax = 1, boundPar = 2, boundDigits = 3, boundAsTimeout = TRUE)
scenario <- defaultScenario(c(caps, list(
  targetRunner = run, instances = as.character(seq_len(instances)),
  maxTime = as.integer(arguments[3]), budgetEstimation = 0.01, capping = has_caps,
  elitist = TRUE, testType = "t-test", configurationsFile = table,
  firstTest = min(5, instances),
  deterministic = TRUE, seed = as.integer(arguments[4]), logFile = "", debugLevel = 0,
  minMeasurableTime = 0.001
)))
sink(stderr())
best <- irace(scenario, parameters)
ask("best", as_text(best[1, ]), 1, 1)
