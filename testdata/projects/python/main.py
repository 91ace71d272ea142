import argparse

import summing

parser = argparse.ArgumentParser()
parser.add_argument("numbers", nargs="*", type=int, default=[1, 2])
print(sum(summing.add(0, n) for n in parser.parse_args().numbers))
