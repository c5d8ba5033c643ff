"""Another right way: a program, which tells what it saw."""

import re
import shlex

from hemra_protocol import Trial

ASK = """
import sys, time, urllib.error, urllib.request
for number in range(1, 6):
    try:
        print(number, urllib.request.urlopen(sys.argv[1]).read().decode())
        break
    except urllib.error.HTTPError as error:
        print(number, error.code)
        time.sleep(1.2)
"""

trial = Trial("right", "1")
address = re.search(r"http://\S+(?=,)", trial.instruction)[0]
said = trial.terminal(f"python3 -c {shlex.quote(ASK)} {address}")
number, code = re.search(r"(\d) The code of the day is (\S+)\.", said).groups()
trial.final(f"- code: `{code}`\n- requests: {number} ({int(number) - 1} refused with 503)")
