"""Another right way: the page is had by a program, and the paragraph is broken into lines."""

import html
import re
import shlex
import textwrap

from hemra_protocol import Trial

trial = Trial("right", "1")
url = re.search(r"http://\S+", trial.instruction)[0]
read = f"import urllib.request as u; print(u.urlopen('{url}').read().decode())"
page = trial.terminal(f"PYTHONIOENCODING=utf-8 python3 -c {shlex.quote(read)}")
first = html.unescape(re.sub(r"<[^>]+>", "", re.search(r"(?s)<p>(.*?)</p>", page)[1]))
trial.final("\n".join(textwrap.wrap(first, 60)))
