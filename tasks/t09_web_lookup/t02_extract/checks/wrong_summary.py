"""Wrong: the summary of the page's head."""

import html
import re

from hemra_protocol import Trial
from hemra_tools import web_extract


def words_of(markup):
    """The text of a piece of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


trial = Trial("wrong", "1")
url = re.search(r"http://\S+", trial.instruction)[0]
trial.final(re.search(r'content="([^"]+)"', web_extract(trial, url))[1])
