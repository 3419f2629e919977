# The far end of elubench.peers.r: a request is a line of words, an answer a line of numbers.

package <- commandArgs(TRUE)[1]
if (!requireNamespace(package, quietly = TRUE)) quit(status = 1)
suppressPackageStartupMessages(library(package, character.only = TRUE))

answer <- function(...) {
  cat(format(c(...), digits = 17, scientific = TRUE, trim = TRUE), "\n")
  flush(stdout())
}

requests <- list(
  data = function(path, rows, columns) {
    n <<- as.integer(rows)
    d <<- as.integer(columns)
    X <<- matrix(readBin(path, "double", n * d), n, d)
    second <<- mean(X^2)
    answer(n)
  },
  # EM of mclust: iterations, relative tolerance of the likelihood, both means, the variance
  em = function(count, tolerance, ...) {
    start <- as.numeric(c(...))
    name <- if (d == 1) "E" else "EII"
    mean <- if (d == 1) start[1:2] else matrix(start[1:(2 * d)], d, 2)
    variance <- list(modelName = name, d = d, G = 2, sigmasq = start[2 * d + 1])
    fit <- em(
      if (d == 1) as.vector(X) else X,
      modelName = name,
      parameters = list(pro = c(0.5, 0.5), mean = mean, variance = variance),
      control = emControl(
        eps = 0, tol = rep(as.numeric(tolerance), 2), itmax = rep(as.integer(count), 2),
        equalPro = TRUE
      ),
      warn = FALSE
    )
    # a negative number of iterations means that it did not converge
    answer(attr(fit, "info")[1], fit$parameters$mean, fit$parameters$variance$sigmasq)
  },
  # SQUAREM on the EM map of the constrained model, which is vectorised R
  squarem = function(most, ...) {
    map <- function(theta) {
      scale <- second - sum(theta^2) / d
      as.vector(crossprod(X, tanh(X %*% (theta / scale)))) / n
    }
    loss <- function(theta) {
      scale <- second - sum(theta^2) / d
      if (scale <= 0) return(Inf)
      y <- abs(X %*% (theta / scale))
      gauss <- 0.5 * n * d * log(scale) + 0.5 * n * (d * second + sum(theta^2)) / scale
      gauss - sum(y + log1p(exp(-2 * y)))
    }
    begun <- as.numeric(Sys.time())
    fit <- squarem(as.numeric(c(...)), map, loss,
                   control = list(maxiter = as.integer(most), tol = 1e-12))
    answer(fit$fpevals, as.numeric(Sys.time()) - begun, fit$convergence, fit$par)
  }
)

cat(as.character(packageVersion(package)), "\n")
flush(stdout())
input <- file("stdin", "r")
while (length(line <- readLines(input, 1)) > 0) {
  words <- strsplit(line, "\t")[[1]]
  do.call(requests[[words[1]]], as.list(words[-1]))
}
