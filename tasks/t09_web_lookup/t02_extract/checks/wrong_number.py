"""Wrong: one number is off by one."""

import html
import re

from hemra_protocol import Trial
from hemra_tools import web_extract


def words_of(markup):
    """The text of a piece of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


trial = Trial("wrong", "1")
url = re.search(r"http://\S+", trial.instruction)[0]
paragraph = words_of(re.search(r"(?s)<p>(.*?)</p>", web_extract(trial, url))[1])
trial.final(re.sub(r"(\d+) metres", lambda found: f"{int(found[1]) + 1} metres", paragraph))
