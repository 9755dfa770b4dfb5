# SPDX-License-Identifier: MIT
# lme4 on one table, for groups.py:  Rscript groups_lme4.R MODEL DATA FORMULA
#                                    Rscript groups_lme4.R write NAME FILE     (one of lme4's own data sets)
# Prints one line of JSON: estimates with standard errors where lme4 has them, seconds, and what it warned of.
suppressMessages(library(lme4))
args <- commandArgs(trailingOnly = TRUE)

write_set <- function(name, file) {
  data(list = name, package = "lme4", envir = environment())
  table <- get(name, envir = environment())
  write.csv(table, file, row.names = FALSE, quote = FALSE)
}

# A .npy file of doubles, with the names that sgfs gives its columns.
read_npy <- function(file) {
  con <- file(file, "rb")
  on.exit(close(con))
  start <- readBin(con, "raw", 10)
  header <- rawToChar(readBin(con, "raw", as.integer(start[9]) + 256L * as.integer(start[10])))
  shape <- as.integer(regmatches(header, regexec("\\((\\d+), (\\d+)\\)", header))[[1]][2:3])
  table <- as.data.frame(matrix(readBin(con, "double", prod(shape)), shape[1], byrow = TRUE))
  names(table) <- c(paste0("x", seq_len(shape[2] - 1)), "y")
  table
}

fit_model <- function(model, file, text) {
  table <- if (grepl("npy$", file)) read_npy(file) else read.csv(file)
  for (name in unlist(lapply(findbars(as.formula(text)), function(bar) all.vars(bar[[3]]))))
    table[[name]] <- factor(table[[name]])
  warned <- character()
  took <- system.time(withCallingHandlers({
    fit <- if (model == "linear") lmer(as.formula(text), table)
           else glmer(as.formula(text), table, family = if (model == "poisson") poisson else binomial)
  }, warning = function(w) {
    warned <<- c(warned, conditionMessage(w))
    invokeRestart("muffleWarning")
  }))
  found <- character()
  put <- function(name, value, error = NA)
    found <<- c(found, sprintf('"%s": [%.8g, %s]', name, value, if (is.na(error)) "null" else sprintf("%.8g", error)))
  plain <- function(name) ifelse(name == "(Intercept)", "intercept", name)
  beta <- fixef(fit)
  error <- sqrt(diag(as.matrix(vcov(fit))))
  for (k in seq_along(beta)) put(plain(names(beta)[k]), beta[k], error[k])
  spread <- as.data.frame(VarCorr(fit))
  for (k in seq_len(nrow(spread))) {
    row <- spread[k, ]
    if (row$grp == "Residual") put("sigma", row$sdcor)
    else if (is.na(row$var2)) put(sprintf("sd_%s[%s]", row$grp, plain(row$var1)), row$sdcor)
    else put(sprintf("cor_%s[%s,%s]", row$grp, plain(row$var1), row$var2), row$sdcor)
  }
  note <- gsub('["\\\\]', "'", gsub("\\s+", " ", paste(unique(warned), collapse = "; ")))
  cat(sprintf('{"seconds": %.4f, "cpu": %.4f, "estimates": {%s}, "note": "%s", "version": "%s"}\n', took[["elapsed"]],
              took[["user.self"]] + took[["sys.self"]], paste(found, collapse = ", "), substr(note, 1, 120),
              as.character(packageVersion("lme4"))))
}

if (args[1] == "write") write_set(args[2], args[3]) else fit_model(args[1], args[2], args[3])
