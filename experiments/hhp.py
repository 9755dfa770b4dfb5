#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The 139 columns of the Heritage Health Prize that the paper's section 5.2.1 predicts days in hospital from.

    python experiments/hhp.py FOLDER OUT.csv                       # FOLDER: the organisers' release 3, unpacked
    python experiments/hhp.py --synthetic OUT.npy --rows 147473    # no release: claims that are made up

One row for each member and year: claims of year 1 with the days in hospital of year 2, claims of year 2 with the days of year
3; 76,038 + 71,435 rows of the release. The columns are those of the team that won the first milestone prize, and
DaysInHospital, 0 to 15, comes last. No member's number is written.

* Text as numbers: PayDelay 162+ is 162; DSFS is the month, 1 to 12; CharlsonIndex is 0, 2, 4, 6; LengthOfStay is in days, of
  weeks about the middle, and missing where it is none of the ten that have a number; DrugCount 7+ is 7, LabCount 10+ is 10.
* LengthOfStay and DSFS: max, min and mean of nothing are 0, the standard deviation of fewer than two -1, the range -1. With one
  claim in all, standard deviations are 0. They are those of a sample (n - 1).
* Means of PayDelay, LengthOfStay, DSFS and CharlsonIndex are cut to integers, as the team's SQL did; --fractional-means
  does not cut. Those of DrugCount and LabCount are never cut.
* Distinct providers, places, ... do not count a missing one. "Months" of drugs and labs are their records: one a month.
* A row without any claim (the release has none) has 0 everywhere, and -1 as above.

The release may be neither passed on nor used for anything but the competition, and nothing of it is here. The synthetic table
has its shape alone: made-up claims, counted by the same code, and days drawn from a made-up risk. It tells nothing about the
prize's members, and scores on it are not comparable with any on the prize's data."""
import argparse
import csv
import pathlib
import sys
import time

import numpy as np

AGES = ["0-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70-79", "80+", ""]
SEXES = ["M", "F", ""]
CONDITIONS = ("MSC2a3 METAB3 ARTHSPIN NEUMENT RESPR4 MISCHRT SKNAUT GIBLEED INFEC4 TRAUMA HEART2 RENAL3 ROAMI MISCL5 ODaBNCA UTI COPD "
              "GYNEC1 CANCRB FXDISLC AMI PRGNCY HEMTOL HEART4 SEIZURE APPCHOL CHF GYNECA - PNEUM RENAL2 GIOBSENT STROKE CANCRA "
              "FLaELEC MISCL1 HIPFX METAB1 PERVALV LIVERDZ CATAST CANCRM PERINTL PNCRDZ RENAL1 SEPSIS").replace("-", "").split(" ")
SPECIALTIES = ["Internal", "Laboratory", "General Practice", "Surgery", "Diagnostic Imaging", "Emergency", "Other", "Pediatrics",
               "Rehabilitation", "Obstetrics and Gynecology", "Anesthesiology", "Pathology", ""]
PROCEDURES = "EM PL MED SCS RAD SDS SIS SMS ANES SGS SEOA SRS SNS SAS SUS - SMCD SO".replace("-", "").split(" ")
PLACES = ["Office", "Independent Lab", "Urgent Care", "Outpatient Hospital", "Inpatient Hospital", "Ambulance", "Other", "Home", ""]
LEVELS = {"condition": CONDITIONS, "specialty": SPECIALTIES, "procedure": PROCEDURES, "place": PLACES}
STAYS = {"1 day": 1, **{f"{d} days": d for d in range(2, 7)}, "1- 2 weeks": 11, "2- 4 weeks": 21, "4- 8 weeks": 42, "26+ weeks": 180}
MONTHS = {"": -1, "0- 1 month": 1, **{f"{m:d}-{m + 1:2d} months": m + 1 for m in range(1, 12)}}
CHARLSON = {"0": 0, "1-2": 2, "3-4": 4, "5+": 6}
RELEASE = {"DaysInHospital_Y2.csv": 76_038, "DaysInHospital_Y3.csv": 71_435, "Claims.csv": 2_668_990}  # rows


class Unreadable(Exception):
    """A file that is not of the release: which, where and what."""


# ---- the columns


def _names():
    def short(level):
        return level.replace(" ", "_").replace("-", "_").replace("+", "_up") or "missing"
    yield "claims_truncated"
    yield from (f"age_{short(a)}" for a in AGES)
    yield from ("sex_male", "sex_female", "sex_missing")
    yield from ("claims", "providers", "vendors", "pcps", "places", "specialties", "conditions", "procedures")
    yield from (f"pay_delay_{k}" for k in ("max", "min", "mean", "sd"))
    yield from (f"stay_{k}" for k in ("max", "min", "mean", "sd", "missing", "suppressed", "known"))
    yield from (f"month_{k}" for k in ("max", "min", "range", "mean", "sd"))
    yield from (f"charlson_{k}" for k in ("max", "min", "mean", "range", "sd"))
    for kind, levels in LEVELS.items():
        yield from (f"{kind}_{short(level)}" for level in levels)
    yield from (f"{kind}_{k}" for kind in ("drugs", "labs") for k in ("max", "min", "mean", "months"))
    yield from ("no_labs", "no_drugs")


NAMES = list(_names())


def features(rows, truncated, age, sex, claims, drugs, labs, fractional=False):
    """The table, rows x 139. age and sex are places in AGES and SEXES; claims, drugs and labs are dictionaries of arrays with
    an entry for each record: `row`, the row it belongs to; places in LEVELS; numbers, where -1 is a missing one."""
    at = claims["row"]
    count = np.bincount(at, minlength=rows)
    pay, stay, month, charlson = (_moments(rows, at, claims[k], fractional) for k in ("pay_delay", "stay", "month", "charlson"))
    no_stay, kept_secret = claims["stay"] < 0, claims["suppressed"] > 0
    table = [truncated, *(age == k for k in range(len(AGES))), *(sex == k for k in range(len(SEXES))), count,
             *(_distinct(rows, at, claims[k], LEVELS.get(k)) for k in ("provider", "vendor", "pcp", "place", "specialty", "condition",
                                                                        "procedure")),
             pay["max"], pay["min"], pay["mean"], pay["sd"],
             stay["max"], stay["min"], stay["mean"], _sd(stay, count),
             *(np.bincount(at[which], minlength=rows) for which in (no_stay & ~kept_secret, no_stay & kept_secret, ~no_stay)),
             month["max"], month["min"], _range(month), month["mean"], _sd(month, count),
             charlson["max"], charlson["min"], charlson["mean"], _range(charlson), charlson["sd"]]
    table += [column for kind, levels in LEVELS.items() for column in _counts(rows, at, claims[kind], len(levels)).T]
    drugs, labs = (_moments(rows, of["row"], of["count"], True) for of in (drugs, labs))
    table += [of[k] for of in (drugs, labs) for k in ("max", "min", "mean", "known")]
    return np.column_stack([*table, labs["known"] == 0, drugs["known"] == 0]).astype(float)


def _moments(rows, at, value, fractional):
    """Of the numbers that are not missing, for each row; 0 where there are none (sd: where there are fewer than two)."""
    at, value = at[value >= 0], value[value >= 0].astype(np.int64)
    known = np.bincount(at, minlength=rows)
    some = known > 0
    top, low = np.full(rows, -1), np.full(rows, np.iinfo(np.int64).max)
    np.maximum.at(top, at, value)
    np.minimum.at(low, at, value)
    total, squares = (np.bincount(at, w, rows) for w in (value, value * value))  # sums of integers: exact
    mean = total / np.maximum(known, 1)
    spread = (known * squares - total * total) / np.maximum(known * (known - 1), 1)
    return {"max": np.where(some, top, 0), "min": np.where(some, low, 0), "mean": mean if fractional else np.floor(mean),
            "sd": np.sqrt(spread), "known": known}


def _sd(of, claims):
    return np.where((of["known"] < 2) & (claims != 1), -1, of["sd"])


def _range(of):
    return np.where(of["known"] > 0, of["max"] - of["min"], -1)


def _counts(rows, at, level, levels):
    return np.bincount(at * levels + level, minlength=rows * levels).reshape(rows, levels)


def _distinct(rows, at, code, levels):
    """How many different codes each row has, without the missing one."""
    there = code >= 0 if levels is None else code != levels.index("")
    width = 1 + int(code.max(initial=0))
    return np.bincount(np.unique(at[there] * width + code[there]) // width, minlength=rows)


# ---- the release


class Numbered(dict):
    """A number for each text, in the order of their coming; -1 for none."""

    def __missing__(self, text):
        self[text] = -1 if text == "" else len(self)
        return self[text]


class Lenient(dict):
    """-1 for what has no number, counted."""

    def __init__(self, *known):
        super().__init__(*known)
        self.others = 0

    def __missing__(self, text):
        self.others += text != ""
        return -1


def places(levels):
    return {level: k for k, level in enumerate(levels)}


def numbers(top, more=""):
    """The texts 0 to top as numbers; the last one with a + if need be."""
    return {**{str(k): k for k in range(top + 1)}, f"{top}{more}": top}


def blocks(path, codes, size=200_000):
    """The columns that codes names, as arrays of numbers by those dictionaries, some lines at a time."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        head = [name.strip().lower() for name in next(reader, [])]
        lacking = [name for name in codes if name.lower() not in head]
        if lacking:
            raise Unreadable(f"{path}, line 1: no column {', '.join(lacking)}; is it of release 3?")
        line = 2
        while rows := [row for _, row in zip(range(size), reader)]:
            for k, row in enumerate(rows):
                if len(row) != len(head):
                    raise Unreadable(f"{path}, line {line + k}: {len(row)} cells instead of {len(head)}")
            columns = dict(zip(head, zip(*rows)))
            yield {name: _coded(path, line, name, columns[name.lower()], code) for name, code in codes.items()}
            line += len(rows)


def _coded(path, line, name, cells, code):
    try:
        return np.fromiter(map(code.__getitem__, cells), np.int64, len(cells))
    except KeyError as reason:
        text = reason.args[0]
        known = ", ".join(f'"{k}"' for k in list(code)[:20]) + (", ..." if len(code) > 20 else "")
        raise Unreadable(f'{path}, line {line + cells.index(text)}: {name} "{text}" is not one of {known}') from None


def whole(path, codes):
    """All columns of a smaller file."""
    parts = list(blocks(path, codes))
    return {name: np.concatenate([p[name] for p in parts]) if parts else np.empty(0, np.int64) for name in codes}


def read(folder, fractional=False, say=lambda text: None):
    """The table of the release in folder, rows x 140: NAMES, then DaysInHospital."""
    folder, members = pathlib.Path(folder), Numbered()
    days = [whole(folder / f"DaysInHospital_Y{y}.csv", {"MemberID": members, "ClaimsTruncated": numbers(1), "DaysInHospital": numbers(15)})
            for y in (2, 3)]
    expect(say, "DaysInHospital_Y2.csv", len(days[0]["MemberID"]))
    expect(say, "DaysInHospital_Y3.csv", len(days[1]["MemberID"]))
    known = len(members)
    row_of = np.full((3, known + 1), -1)  # year of the claims x member; the last place is for members without days
    first = 0
    for year, part in enumerate(days):
        member = part["MemberID"]
        once, times = np.unique(member, return_counts=True)
        if times.max(initial=1) > 1:
            twice = next(text for text, k in members.items() if k == once[times.argmax()])
            raise Unreadable(f"{folder / f'DaysInHospital_Y{year + 2}.csv'}: MemberID {twice} is there {times.max()} times")
        row_of[year, member] = first + np.arange(len(member))
        first += len(member)
    of_member = Lenient(members)  # -1: the last place
    truncated, target = (np.concatenate([part[k] for part in days]) for k in ("ClaimsTruncated", "DaysInHospital"))

    people = whole(folder / "Members.csv", {"MemberID": of_member, "AgeAtFirstClaim": places(AGES), "Sex": places(SEXES)})
    age, sex = np.full(known + 1, AGES.index("")), np.full(known + 1, SEXES.index(""))
    age[people["MemberID"]], sex[people["MemberID"]] = people["AgeAtFirstClaim"], people["Sex"]
    member = np.concatenate([part["MemberID"] for part in days])

    year = {"Y1": 0, "Y2": 1, "Y3": 2}
    counted = [_of_rows(whole(folder / f"{kind}.csv", {"MemberID": of_member, "Year": year, kind: numbers(top, "+")}), row_of, kind)
               for kind, top in (("DrugCount", 7), ("LabCount", 10))]
    claims = _claims(folder / "Claims.csv", of_member, year, row_of, say)
    bare = first - len(np.unique(claims["row"]))
    if bare:
        say(f"warning: {bare} rows have no claims")
    return np.column_stack([features(first, truncated, age[member], sex[member], claims, *counted, fractional), target])


def _of_rows(part, row_of, kind):
    row = row_of[part["Year"], part["MemberID"]]
    return {"row": row[row >= 0], "count": part[kind][row >= 0]}


def _claims(path, of_member, year, row_of, say):
    """Claims of members and years that have a row, as arrays; one pass, with progress."""
    stays = Lenient(STAYS)
    codes = {"MemberID": of_member, "Year": year, "ProviderID": Numbered(), "Vendor": Numbered(), "PCP": Numbered(),
             "PlaceSvc": places(PLACES), "Specialty": places(SPECIALTIES), "PrimaryConditionGroup": places(CONDITIONS),
             "ProcedureGroup": places(PROCEDURES), "PayDelay": numbers(162, "+"), "LengthOfStay": stays, "DSFS": MONTHS,
             "CharlsonIndex": CHARLSON, "SupLOS": numbers(1)}
    names = {"provider": "ProviderID", "vendor": "Vendor", "pcp": "PCP", "place": "PlaceSvc", "specialty": "Specialty",
             "condition": "PrimaryConditionGroup", "procedure": "ProcedureGroup", "pay_delay": "PayDelay", "stay": "LengthOfStay",
             "month": "DSFS", "charlson": "CharlsonIndex", "suppressed": "SupLOS"}
    parts, seen, start = [], 0, time.monotonic()
    for block in blocks(path, codes):
        row = row_of[block["Year"], block["MemberID"]]
        parts.append({"row": row[row >= 0], **{k: block[name][row >= 0].astype(np.int32) for k, name in names.items()}})
        seen += len(row)
        say(f"{path.name}: {seen:,} of about {RELEASE['Claims.csv']:,} lines, {time.monotonic() - start:.0f} s")
    expect(say, "Claims.csv", seen)
    if stays.others:
        say(f"note: LengthOfStay of {stays.others:,} claims has no number among the ten of the definition, and counts as missing")
    return {k: np.concatenate([p[k] for p in parts] or [np.empty(0, np.int64)]) for k in ("row", *names)}


def expect(say, name, count):
    if count != RELEASE[name]:
        say(f"warning: {name} has {count:,} rows, and that of release 3 {RELEASE[name]:,}")


# ---- a table of the same shape


def synthetic(rows, seed=1):
    """Made-up claims, counted as the release's would be, and days drawn from a made-up risk: rows x 140. SYNTHETIC."""
    rng = np.random.default_rng(seed)
    frail = rng.standard_normal(rows)  # what the columns only hint at
    age = np.clip(np.round(4.2 + 1.2 * frail + 1.9 * rng.standard_normal(rows)), 0, 8).astype(int)
    age[rng.random(rows) < 0.04] = AGES.index("")
    sex = rng.choice(3, rows, p=[0.37, 0.46, 0.17])
    count = 1 + np.minimum(42, rng.poisson(rng.gamma(1.3, 7 * np.exp(0.45 * frail))))
    at = np.repeat(np.arange(rows), count)
    some, tilt = len(at), 0.25 * frail[at]

    def level(levels, decay, tilt):
        """Places in a list whose later entries are rarer, but not so for the frail."""
        share = np.cumsum(np.exp(-decay * np.arange(levels)))
        return np.searchsorted(share / share[-1], rng.random(len(tilt)) ** np.exp(-tilt)).clip(0, levels - 1)

    own = np.stack([level(len(CONDITIONS), 0.13, 0.25 * frail) for _ in range(3)], 1)  # what somebody comes back with
    again = rng.random(some) < 0.75
    place = level(len(PLACES), 0.45, tilt)
    inpatient = place == PLACES.index("Inpatient Hospital")
    provider = rng.geometric(0.35, some)
    claims = {"row": at, "provider": provider, "vendor": provider // 2, "pcp": (rng.random(some) < 0.1).astype(int), "place": place,
              "specialty": level(len(SPECIALTIES), 0.3, tilt), "procedure": level(len(PROCEDURES), 0.35, tilt),
              "condition": np.where(again, own[at, rng.integers(0, 3, some)], level(len(CONDITIONS), 0.13, tilt)),
              "pay_delay": np.minimum(162, rng.gamma(2.0, 20, some)).astype(int),
              "stay": np.where(inpatient & (rng.random(some) < 0.6), np.array(list(STAYS.values()))[level(len(STAYS), 0.8, tilt)], -1),
              "month": np.where(rng.random(some) < 0.02, -1, 1 + (rng.random(some) * rng.integers(1, 13, rows)[at]).astype(int)),
              "charlson": 2 * level(4, 1.6, 3 * tilt), "suppressed": (rng.random(some) < 0.02).astype(int)}
    drugs, labs = ({"row": np.repeat(np.arange(rows), months), "count": 1 + level(top, 0.35, np.repeat(0.4 * frail, months))}
                   for top, months in ((7, rng.binomial(12, 0.45, rows) * (rng.random(rows) < 0.65)),
                                       (10, rng.binomial(12, 0.2, rows) * (rng.random(rows) < 0.7))))
    table = features(rows, (count == 43).astype(int), age, sex, claims, drugs, labs)
    return np.column_stack([table, _days(rng, table)])


def _days(rng, table):
    """Days in hospital, 0 to 15, about 85 % of them 0, from a smooth risk that is far from linear in the columns."""
    x = {name: table[:, k] for k, name in enumerate(NAMES)}
    age = sum(k * x[f"age_{a.replace('-', '_').replace('+', '_up')}"] for k, a in enumerate(AGES[:-1])) / 8
    visits, inpatient = np.log1p(x["claims"]), np.log1p(x["place_Inpatient_Hospital"] + x["condition_CHF"] + x["condition_COPD"])
    ill = np.tanh(x["charlson_mean"] / 2) + np.tanh(x["drugs_mean"] / 4)
    risk = (0.5 * (visits - 2) + 2.5 * (age - 0.45) ** 2 + 0.9 * inpatient * age + 0.8 * ill * np.tanh(visits - 2.2)
            + 0.9 * np.tanh(x["condition_PRGNCY"] * x["sex_female"]) + 0.5 * np.sin(x["month_mean"] / 2) * x["sex_male"])
    low, high = -20.0, 20.0
    for _ in range(60):  # the constant that leaves 15 % in hospital
        middle = (low + high) / 2
        low, high = (middle, high) if np.mean(1 / (1 + np.exp(-risk - middle))) < 0.15 else (low, middle)
    there = rng.random(len(table)) < 1 / (1 + np.exp(-risk - low))
    longer = 1 / (1.6 + 1.5 * np.exp(0.8 * np.tanh(inpatient + age - 1)))  # chance that a day is the last
    return np.where(there, np.minimum(15, rng.geometric(longer)), 0)


def write(path, table):
    """As .csv with names, or .npy."""
    path = pathlib.Path(path)
    if path.suffix == ".npy":
        np.save(path, table)
        return
    with open(path, "w") as file:
        file.write(",".join([*NAMES, "DaysInHospital"]) + "\n")
        np.savetxt(file, table, fmt="%.10g", delimiter=",")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="Claims.csv, Members.csv, DaysInHospital_Y2.csv, ..._Y3.csv, DrugCount.csv, LabCount.csv")
    parser.add_argument("out", help=".csv, or .npy without names")
    parser.add_argument("--fractional-means", action="store_true", help="do not cut means to integers")
    parser.add_argument("--synthetic", action="store_true", help="made-up claims instead of the release")
    parser.add_argument("--rows", type=int, default=147_473, help="of a synthetic table [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="of a synthetic table [%(default)s]")
    args = parser.parse_args()
    if args.synthetic == bool(args.folder):
        parser.error("either the FOLDER of the release, or --synthetic")

    def say(text):
        print(text, file=sys.stderr, flush=True)

    try:
        if args.synthetic and "synthetic" not in pathlib.Path(args.out).name:
            say('note: a name with "synthetic" in it would say what is in the file')
        table = synthetic(args.rows, args.seed) if args.synthetic else read(args.folder, args.fractional_means, say)
        write(args.out, table)
    except (Unreadable, OSError) as reason:
        raise SystemExit(f"{parser.prog}: {reason}")
    say(f"{args.out}: {len(table):,} rows, {len(NAMES)} columns and DaysInHospital, {np.mean(table[:, -1] == 0):.1%} of which are 0"
        + (" (SYNTHETIC)" if args.synthetic else ""))


if __name__ == "__main__":
    main()
