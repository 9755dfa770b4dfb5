# SPDX-License-Identifier: MIT
"""The columns of the Heritage Health Prize (experiments/hhp.py) from a release of a few made-up members, against numbers worked
out by hand; what is said about files that are not of the release; and the shape of the synthetic table."""
import math
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

EXPERIMENTS = pathlib.Path(os.environ.get("SGFS_SOURCE", pathlib.Path(__file__).parents[2])) / "experiments"
sys.path.insert(0, str(EXPERIMENTS))
import hhp  # noqa: E402

CLAIMS = ("MemberID,ProviderID,Vendor,PCP,Year,Specialty,PlaceSvc,PayDelay,LengthOfStay,DSFS,PrimaryConditionGroup,CharlsonIndex,"
          "ProcedureGroup,SupLOS")
FILES = {
    # member 7 has a row for both years, 8 for the first, 9 and 5 for the second
    "DaysInHospital_Y2.csv": ["MemberID,ClaimsTruncated,DaysInHospital", "7,0,0", "8,1,15"],
    "DaysInHospital_Y3.csv": ["MemberID,ClaimsTruncated,DaysInHospital", "9,0,3", "7,1,1", "5,0,0"],
    "Members.csv": ["MemberID,AgeAtFirstClaim,Sex", "7,80+,F", "8,,M", "9,0-9,", "1234,20-29,F"],  # 5 is not there
    "DrugCount.csv": ["MemberID,Year,DSFS,DrugCount", "7,Y1,0- 1 month,7+", "7,Y1,1- 2 months,2", "7,Y1,4- 5 months,1",
                      "7,Y3,0- 1 month,5", "9,Y2,0- 1 month,4", "1234,Y1,0- 1 month,1"],
    "LabCount.csv": ["MemberID,Year,DSFS,LabCount", "7,Y1,0- 1 month,10+", "7,Y1,3- 4 months,1", "8,Y2,0- 1 month,9"],
    "Claims.csv": [
        CLAIMS,
        # 7 in year 1: four claims, two known stays, one suppressed; a DSFS missing; missing levels; one vendor twice
        "7,100,20,3,Y1,Internal,Office,162+,,0- 1 month,MSC2a3,0,EM,0",
        "7,101,20,,Y1,Surgery,Inpatient Hospital,10,1- 2 weeks,11-12 months,SEPSIS,5+,SO,0",
        "7,,21,3,Y1,,,5,26+ weeks,9-10 months,,1-2,,0",
        "7,100,20,3,Y1,Surgery,Inpatient Hospital,0,,,SEPSIS,3-4,SO,1",
        # 8 in year 1: a single claim, all that can be missing is
        "8,,,,Y1,,,33,,,,0,,1",
        # 9 in year 2: two claims, one known stay, one known month; a stay that the definition has no number for
        "9,1,1,1,Y2,Pathology,Home,7,2 days,5- 6 months,CHF,1-2,SMCD,0",
        "9,2,1,1,Y2,Pathology,Home,8,12-26 weeks,,CHF,1-2,SMCD,0",
        # 7 in year 2: three claims, no known stay
        "7,1,1,1,Y2,Other,Other,4,,2- 3 months,RENAL1,0,SAS,0",
        "7,1,1,1,Y2,Other,Other,4,,1- 2 months,RENAL1,0,SAS,0",
        "7,1,1,1,Y2,Other,Other,3,,1- 2 months,RENAL1,0,SAS,0",
        # nobody's: year 3, and a member without days
        "7,1,1,1,Y3,Other,Other,99,6 days,2- 3 months,AMI,5+,SAS,0",
        "1234,1,1,1,Y1,Other,Other,99,6 days,2- 3 months,AMI,5+,SAS,0",
        "8,1,1,1,Y2,Other,Other,99,6 days,2- 3 months,AMI,5+,SAS,0",
    ],
}

# The blocks of claim counts that are not 0, by their place among the 139 (from 1): 44-89, 90-102, 103-120, 121-129.
EXPECTED = [
    {  # member 7, year 1; PayDelay 162, 10, 5, 0: mean 44.25; stays 11, 180: mean 95.5; months 1, 12, 10: mean 7 2/3;
       # Charlson 0, 6, 2, 4: mean 3
        10: 1, 13: 1, 15: 4, 16: 2, 17: 2, 18: 1, 19: 2, 20: 2, 21: 2, 22: 2,
        23: 162, 24: 0, 25: 44, 26: math.sqrt((117.75**2 + 34.25**2 + 39.25**2 + 44.25**2) / 3),
        27: 180, 28: 11, 29: 95, 30: 169 / math.sqrt(2), 31: 1, 32: 1, 33: 2,
        34: 12, 35: 1, 36: 11, 37: 7, 38: math.sqrt((400 + 169 + 49) / 9 / 2),
        39: 6, 40: 0, 41: 3, 42: 6, 43: math.sqrt((9 + 9 + 1 + 1) / 3),
        44: 1, 89: 2, 72: 1, 90: 1, 93: 2, 102: 1, 103: 1, 120: 2, 118: 1, 121: 1, 125: 2, 129: 1,
        130: 7, 131: 1, 132: 10 / 3, 133: 3, 134: 10, 135: 1, 136: 5.5, 137: 2, 140: 0},
    {  # member 8, year 1: one claim, so every standard deviation is 0
        1: 1, 11: 1, 12: 1, 15: 1, 23: 33, 24: 33, 25: 33, 32: 1, 36: -1, 72: 1, 102: 1, 118: 1, 129: 1, 138: 1, 139: 1, 140: 15},
    {  # member 9, year 2
        2: 1, 14: 1, 15: 2, 16: 2, 17: 1, 18: 1, 19: 1, 20: 1, 21: 1, 22: 1, 23: 8, 24: 7, 25: 7, 26: math.sqrt(0.5),
        27: 2, 28: 2, 29: 2, 30: -1, 31: 1, 33: 1, 34: 6, 35: 6, 36: 0, 37: 6, 38: -1, 39: 2, 40: 2, 41: 2,
        70: 2, 101: 2, 119: 2, 128: 2, 130: 4, 131: 4, 132: 4, 133: 1, 138: 1, 140: 3},
    {  # member 7, year 2
        1: 1, 10: 1, 13: 1, 15: 3, 16: 1, 17: 1, 18: 1, 19: 1, 20: 1, 21: 1, 22: 1, 23: 4, 24: 3, 25: 3, 26: math.sqrt(1 / 3),
        30: -1, 31: 3, 34: 3, 35: 2, 36: 1, 37: 2, 38: math.sqrt(1 / 3), 88: 3, 96: 3, 116: 3, 127: 3, 138: 1, 139: 1, 140: 1},
    {  # member 5: in no other file
        11: 1, 14: 1, 30: -1, 36: -1, 38: -1, 42: -1, 138: 1, 139: 1, 140: 0},
]
FRACTIONAL = [{25: 44.25, 29: 95.5, 37: 23 / 3, 41: 3}, {}, {25: 7.5}, {25: 11 / 3, 37: 7 / 3}, {}]


@pytest.fixture
def release(tmp_path):
    for name, lines in FILES.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


def table(expected):
    found = np.zeros((len(expected), 140))
    for row, cells in zip(found, expected):
        for place, value in cells.items():
            row[place - 1] = value
    return found


def check(ours, expected, within=1e-12):
    theirs = table(expected)
    assert ours.shape == theirs.shape
    wrong = [(r, hhp.NAMES[c] if c < 139 else "days", ours[r, c], theirs[r, c])
             for r, c in np.argwhere(~np.isclose(ours, theirs, rtol=within, atol=0))]
    assert not wrong


def test_every_column_by_hand(release):
    check(hhp.read(release), EXPECTED)


def test_fractional_means(release):
    check(hhp.read(release, fractional=True), [{**e, **f} for e, f in zip(EXPECTED, FRACTIONAL)])


def test_names():
    assert len(hhp.NAMES) == len(set(hhp.NAMES)) == 139
    places = {1: "claims_truncated", 2: "age_0_9", 11: "age_missing", 12: "sex_male", 15: "claims", 22: "procedures",
              23: "pay_delay_max", 30: "stay_sd", 33: "stay_known", 36: "month_range", 41: "charlson_mean",
              44: "condition_MSC2a3", 72: "condition_missing", 89: "condition_SEPSIS",
              90: "specialty_Internal", 103: "procedure_EM", 120: "procedure_SO",
              129: "place_missing", 130: "drugs_max", 137: "labs_months", 138: "no_labs", 139: "no_drugs"}
    assert {k: hhp.NAMES[k - 1] for k in places} == places


def test_codes():
    assert hhp.STAYS == {"1 day": 1, "2 days": 2, "3 days": 3, "4 days": 4, "5 days": 5, "6 days": 6, "1- 2 weeks": 11,
                         "2- 4 weeks": 21, "4- 8 weeks": 42, "26+ weeks": 180}
    assert hhp.MONTHS == {"": -1, "0- 1 month": 1, "1- 2 months": 2, "2- 3 months": 3, "3- 4 months": 4, "4- 5 months": 5,
                          "5- 6 months": 6, "6- 7 months": 7, "7- 8 months": 8, "8- 9 months": 9, "9-10 months": 10,
                          "10-11 months": 11, "11-12 months": 12}
    assert hhp.CHARLSON == {"0": 0, "1-2": 2, "3-4": 4, "5+": 6}
    assert [len(levels) for levels in (hhp.AGES, hhp.SEXES, *hhp.LEVELS.values())] == [10, 3, 46, 13, 18, 9]


def program(*words):
    return subprocess.run([sys.executable, "-B", EXPERIMENTS / "hhp.py", *map(str, words)], capture_output=True, text=True)


def test_the_program_writes_names_and_no_member(release):
    done = program(release, release / "out.csv")
    assert done.returncode == 0, done.stderr
    assert "has 2 rows, and that of release 3 76,038" in done.stderr and "1 rows have no claims" in done.stderr
    assert "LengthOfStay of 1 claims" in done.stderr
    head, *lines = (release / "out.csv").read_text().splitlines()
    assert head == ",".join([*hhp.NAMES, "DaysInHospital"])
    check(np.array([[float(x) for x in line.split(",")] for line in lines]), EXPECTED, 1e-9)


@pytest.mark.parametrize("name, line, old, new, said", [
    ("Claims.csv", 3, "Surgery", "Dentist", 'Specialty "Dentist" is not one of'),
    ("Claims.csv", 2, "162+", "", 'PayDelay "" is not one of'),
    ("Claims.csv", 4, "9-10 months", "9-10", 'DSFS "9-10" is not one of'),
    ("Claims.csv", 9, ",0", "", "13 cells instead of 14"),
    ("Members.csv", 2, "80+", "85", 'AgeAtFirstClaim "85" is not one of'),
    ("DrugCount.csv", 3, ",2", ",8", 'DrugCount "8" is not one of'),
    ("DaysInHospital_Y3.csv", 3, "7,1,1", "7,1,16", 'DaysInHospital "16" is not one of'),
    ("LabCount.csv", 1, "LabCount", "Labs", "no column LabCount"),
])
def test_what_is_not_of_the_release(release, name, line, old, new, said):
    lines = FILES[name].copy()
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1][::-1].replace(old[::-1], new[::-1], 1)[::-1]
    (release / name).write_text("\n".join(lines) + "\n")
    with pytest.raises(hhp.Unreadable) as reason:
        hhp.read(release)
    assert f"{name}, line {line}: " in str(reason.value) and said in str(reason.value)


def test_a_member_twice_and_a_file_that_is_missing(release):
    (release / "DaysInHospital_Y2.csv").write_text("MemberID,ClaimsTruncated,DaysInHospital\n7,0,0\n7,0,0\n")
    with pytest.raises(hhp.Unreadable, match="MemberID 7 is there 2 times"):
        hhp.read(release)
    (release / "DaysInHospital_Y2.csv").unlink()
    done = program(release, release / "out.csv")
    assert done.returncode == 1 and "DaysInHospital_Y2.csv" in done.stderr and not (release / "out.csv").exists()


def test_the_synthetic_table(tmp_path):
    done = program("--synthetic", tmp_path / "synthetic.npy", "--rows", 20_000, "--seed", 2)
    assert done.returncode == 0 and "(SYNTHETIC)" in done.stderr
    found = np.load(tmp_path / "synthetic.npy")
    x = {name: found[:, k] for k, name in enumerate(hhp.NAMES)}
    assert found.shape == (20_000, 140) and np.isfinite(found).all()
    assert (found[:, 1:11].sum(1) == 1).all() and (found[:, 11:14].sum(1) == 1).all()
    for first, count in ((43, 46), (89, 13), (102, 18), (120, 9)):
        assert (found[:, first:first + count].sum(1) == x["claims"]).all()
    for kind in ("pay_delay", "stay", "month", "charlson", "drugs", "labs"):
        assert (x[f"{kind}_min"] <= x[f"{kind}_max"]).all() and (x[f"{kind}_mean"] <= x[f"{kind}_max"]).all()
    assert (x["providers"] <= x["claims"]).all() and (x["conditions"] <= x["claims"]).all()
    assert ((found != 0).mean(0) < 0.01).sum() >= 5 and (found.std(0) > 0).all()
    days = found[:, -1]
    assert set(days) == set(range(16)) and abs((days == 0).mean() - 0.85) < 5 * math.sqrt(0.85 * 0.15 / 20_000)
    assert (hhp.synthetic(50, 3) == hhp.synthetic(50, 3)).all() and (hhp.synthetic(50, 3) != hhp.synthetic(50, 4)).any()
