"""Prints the hours in which the water over the bar is deep enough for a draught."""

import math
import sys

draught = float(sys.argv[1])
deep = [hour for hour in range(24) if 4.0 + 2.0 * math.cos((hour - 3) * math.tau / 12.4) >= draught + 0.5]
print(', '.join(f'{hour:02}:00' for hour in deep))
