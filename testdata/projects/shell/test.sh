#!/usr/bin/env bash
# Exits with 1 if a sum is wrong.
n_wrong=0
check() {
    local expected=$1 sum
    shift
    sum=$(bash sum.sh "$@")
    if [ "$sum" != "$expected" ]; then
        echo "the sum of $* is $sum, not $expected"
        n_wrong=$((n_wrong + 1))
    fi
}
check 0
check 5 5
check 6 1 2 3
check -1 1 -2
[ "$n_wrong" -eq 0 ] && echo "all sums are right"
