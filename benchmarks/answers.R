# Rscript answers.R FOLDER: the best log-likelihood that mclust finds for every FOLDER/*.csv, of 60 starts,
# with proportions that are equal and free; one scale for both components ("E" at d = 1, "EII" beyond).
# The columns of R's own data frames are written to FOLDER first.
suppressMessages(library(mclust))
folder <- commandArgs(trailingOnly = TRUE)[1]

for (name in sort(ls("package:datasets"))) {
  frame <- get(name)
  if (!is.data.frame(frame)) next
  for (column in names(frame)) {
    x <- frame[[column]]
    if (!is.numeric(x) || anyNA(x) || length(unique(x)) < 40) next
    if (identical(as.numeric(x), as.numeric(seq_along(x)))) next
    write.csv(data.frame(x = as.numeric(x)), row.names = FALSE,
              file.path(folder, paste0("R ", name, " ", column, ".csv")))
  }
}

starts <- function(X, count) {
  n <- nrow(X)
  hclass(hc(X, modelName = if (ncol(X) == 1) "E" else "EII"), 2) -> tree
  found <- list(as.vector(tree))
  while (length(found) < count) {
    if (length(found) %% 2 == 0) {
      part <- sample(1:2, n, replace = TRUE)
    } else {
      centres <- X[sample(n, 2), , drop = FALSE]
      far <- sapply(1:2, function(k) rowSums(sweep(X, 2, centres[k, ])^2))
      part <- 1 + (far[, 1] > far[, 2])
    }
    if (length(unique(part)) == 2) found[[length(found) + 1]] <- part
  }
  found
}

best <- function(X, equal) {
  kind <- if (ncol(X) == 1) "E" else "EII"
  set.seed(0)
  short <- emControl(equalPro = equal, tol = c(1e-8, 1e-8), itmax = c(500, 500))
  long <- emControl(equalPro = equal, tol = c(1e-14, 1e-14), itmax = c(100000, 100000))
  ends <- lapply(starts(X, 60), function(part)
    tryCatch(me(X, modelName = kind, z = unmap(part), control = short), error = function(e) NULL))
  values <- sapply(ends, function(end) if (is.null(end) || is.na(end$loglik)) -Inf else end$loglik)
  top <- order(values, decreasing = TRUE)[1:5]
  further <- sapply(ends[top], function(end) {
    if (is.null(end) || is.na(end$loglik)) return(-Inf)
    more <- me(X, modelName = kind, z = end$z, control = long)
    max(end$loglik, more$loglik, na.rm = TRUE)
  })
  max(values, further)
}

cat("set,n,d,mclust_equal,mclust_free\n")
for (file in sort(list.files(folder, "[.]csv$"))) {
  X <- as.matrix(read.csv(file.path(folder, file)))
  cat(sprintf("%s,%d,%d,%.10f,%.10f\n", sub("[.]csv$", "", file), nrow(X), ncol(X),
              best(X, TRUE), best(X, FALSE)))
}
cat(sprintf("# %s, mclust %s\n", R.version.string, packageVersion("mclust")))
