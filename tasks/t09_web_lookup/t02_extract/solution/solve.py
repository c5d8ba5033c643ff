"""Gets the page and reports its first paragraph."""

import html
import re

from hemra_protocol import Trial
from hemra_tools import web_extract


def words_of(markup):
    """The text of a piece of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


trial = Trial("solution", "1")
url = re.search(r"http://\S+", trial.instruction)[0]
trial.message("I extract the page.")
page = web_extract(trial, url)
trial.final(words_of(re.search(r"(?s)<p>(.*?)</p>", page)[1]))
