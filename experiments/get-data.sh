#!/bin/sh
# SPDX-License-Identifier: MIT
# The data of the paper's experiments: fetches what is missing, and checks what is there.
#
#     sh experiments/get-data.sh [--check] [--full] [--mirror URL] [FOLDER]
#
#   FOLDER        where mnist/ and kdd99/ are, or shall be [data in the repository, where experiments look by themselves]
#   --check       fetch nothing
#   --full        the full file of KDD Cup 1999, too (18 MB): Table 1 takes it where it is
#   --mirror URL  try URL/mnist/NAME and URL/kdd99/NAME first (https, http, file)
#
# Exit codes: 0 all files are there and right; 2 wrong words; 3 something is missing or wrong, and what.
#
# Where they come from, and on what terms:
#
#   MNIST    Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits",
#            http://yann.lecun.com/exdb/mnist/ (which no longer serves the files reliably). Fetched from the copies that
#            PyTorch and TensorFlow use. The original page states no licence; Keras's documentation says
#            Creative Commons Attribution-ShareAlike 3.0.
#   KDD99    S. Stolfo, W. Fan, W. Lee, A. Prodromidis, P. Chan, "KDD Cup 1999 Data", UCI Machine Learning Repository,
#            https://doi.org/10.24432/C51C7N, original at http://kdd.ics.uci.edu/databases/kddcup99/kddcup99.html;
#            CC BY 4.0 at UCI. Fetched from the copies that scikit-learn uses, or from UCI.
#   HHP      The Heritage Health Prize's data (figure 3, left) may not be passed on, and are not fetched. Who has release 3
#            gives its folder to `experiments/run.sh fig3-left --hhp FOLDER`; otherwise a synthetic table takes its place.
#
# The checksums are those of the original files; scikit-learn pins the same for both files of KDD99.
set -eu

pytorch=https://ossci-datasets.s3.amazonaws.com/mnist
tensorflow=https://storage.googleapis.com/cvdf-datasets/mnist
lecun=http://yann.lecun.com/exdb/mnist
figshare=https://ndownloader.figshare.com/files
uci=https://archive.ics.uci.edu/ml/machine-learning-databases/kddcup99-mld
kdd=http://kdd.ics.uci.edu/databases/kddcup99

check=no full=no mirror='' folder='' part='' wrong=0

usage() {
    sed -n '3,10s/^# \{0,1\}//p' "$0"
    exit "$1"
}

while [ $# -gt 0 ]; do
    case $1 in
    --check) check=yes ;;
    --full) full=yes ;;
    --mirror)
        [ $# -gt 1 ] || usage 2 >&2
        mirror=${2%/}
        shift
        ;;
    -h | --help) usage 0 ;;
    -*) usage 2 >&2 ;;
    *)
        [ -z "$folder" ] || usage 2 >&2
        folder=$1
        ;;
    esac
    shift
done
folder=${folder:-$(cd "$(dirname "$0")/.." && pwd)/data}

trap '[ -z "$part" ] || rm -f "$part"' EXIT
trap 'exit 75' HUP INT TERM

sha256() {
    if command -v sha256sum > /dev/null; then
        sha256sum "$1" | cut -d' ' -f1
    elif command -v shasum > /dev/null; then
        shasum -a 256 "$1" | cut -d' ' -f1
    else
        openssl dgst -sha256 -r "$1" | cut -d' ' -f1
    fi
}

# from URL, to a file
download() {
    if command -v curl > /dev/null; then
        curl -fsSL --connect-timeout 20 --speed-time 60 --speed-limit 1000 --retry 1 -o "$2" "$1"
    elif command -v wget > /dev/null; then
        wget -q -T 20 -t 2 -O "$2" "$1"
    else
        echo "neither curl nor wget is installed" >&2
        return 1
    fi
}

bad() {
    echo "$*" >&2
    wrong=$((wrong + 1))
}

# One file: its place in the folder, its checksum, and the addresses to try. It gets its name when it is whole and right.
obtain() {
    place=$1 sum=$2 file=$folder/$1
    shift 2
    if [ -e "$file" ]; then
        if [ "$(sha256 "$file")" = "$sum" ]; then
            echo "$file: right"
        else
            bad "$file: not the file it should be (SHA-256 $sum). Move it away, and run this again."
        fi
        return
    fi
    if [ "$check" = yes ]; then
        bad "$file: missing"
        return
    fi
    mkdir -p "$(dirname "$file")"
    part=$file.part.$$
    for url in ${mirror:+"$mirror/$place"} "$@"; do
        echo "$file: fetching $url"
        if ! download "$url" "$part"; then
            echo "  that did not work" >&2
        elif [ "$(sha256 "$part")" != "$sum" ]; then
            echo "  that is another file (SHA-256 $(sha256 "$part"))" >&2
        else
            mv "$part" "$file"
            part=''
            echo "$file: right"
            return
        fi
    done
    rm -f "$part"
    part=''
    bad "$file: could not be had. Get it by hand, from one of the places above, and put it there (SHA-256 $sum)."
}

mnist() {
    obtain "mnist/$1" "$2" "$pytorch/$1" "$tensorflow/$1" "$lecun/$1"
}

mnist train-images-idx3-ubyte.gz 440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609
mnist train-labels-idx1-ubyte.gz 3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c
mnist t10k-images-idx3-ubyte.gz 8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6
mnist t10k-labels-idx1-ubyte.gz f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6
obtain kdd99/kddcup.data_10_percent.gz 8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561 \
    "$figshare/5976042" "$uci/kddcup.data_10_percent.gz" "$kdd/kddcup.data_10_percent.gz"
if [ "$full" = yes ] || [ -e "$folder/kdd99/kddcup.data.gz" ]; then
    obtain kdd99/kddcup.data.gz 3b6c942aa0356c0ca35b7b595a26c89d343652c9db428893e7494f837b274292 \
        "$figshare/5976045" "$uci/kddcup.data.gz" "$kdd/kddcup.data.gz"
fi

if [ "$wrong" -gt 0 ]; then
    echo "$wrong of the files are missing or wrong." >&2
    exit 3
fi
echo "All files are there. Experiments find them with --data-dir $folder."
