"""Passes when the predictions follow the rule behind the data, and the accuracy is the one that they have."""

import csv
import io
import re

from hemra_verifier import answer, as_text, calls, failed, numbers, passed, text

CODE = ("execute_code", "code_execution", "code_interpreter", "run_code", "python", "ipython")
#: A logistic regression agrees with the rule on nearly all rows, however it is trained; the noisy labels do not.
AGREES = 0.94


def predictions(workspace):
    """Predicted label by id, or None where the file is missing or is not of the form asked for."""
    content = text(workspace, "predictions.csv")
    if content is None or "\0" in content:
        return None
    found = {}
    try:
        rows = [row for row in csv.reader(io.StringIO(content)) if row]
    except csv.Error:
        return None
    if not rows or [name.strip().lower() for name in rows[0]] != ["id", "label"]:
        return None
    for row in rows[1:]:
        if len(row) != 2 or not re.fullmatch(r"\s*\d{1,9}(\.0)?\s*", row[0]):
            return None
        if not re.fullmatch(r"\s*[01](\.0+)?\s*", row[1]) or int(float(row[0])) in found:
            return None
        found[int(float(row[0]))] = row[1].strip()[0]
    return found


def says(said, right, total):
    """Whether the text gives this accuracy: as a share, in per cent, or as "105 of 120"."""
    share = right / total
    if any(abs(number - share) < 0.0051 or abs(number - 100 * share) < 0.51 for number in numbers(said)):
        return True
    return re.search(rf"(?<!\d){right}\s*(?:/|of|out of)\s*{total}(?!\d)", said) is not None


def verify(workspace, trace):
    """The rule is known here alone; the accuracy is worked out anew from the predictions that were left."""
    values = trace["values"]
    found = predictions(workspace)
    if found is None:
        return failed("there is no predictions.csv with the columns id and label, one row for every id")
    if set(found) != set(values["test_ids"]):
        return failed("predictions.csv does not hold exactly the test rows")
    predicted = [found[number] for number in values["test_ids"]]
    total = len(predicted)
    agree = sum(mine == rule for mine, rule in zip(predicted, values["by_the_rule"], strict=True))
    right = sum(mine == label for mine, label in zip(predicted, values["in_the_file"], strict=True))
    if agree < AGREES * total:
        return failed(f"the predictions follow the rule behind the data in {agree} of {total} rows only")
    if not says(answer(trace), right, total):
        return failed("the answer does not give the accuracy that these predictions have")
    if not trace["tools_recorded"]:
        return passed(
            "right predictions and accuracy; this harness records no tools, the outcome alone was judged"
        )
    printed = [as_text(call["result"]) for call in calls(trace, *CODE)]
    if not any(
        says(said, right, total) or re.search(rf"(?<![\d.]){right}(?![\d.])", said) for said in printed
    ):
        return failed("no successful execute_code call printed the accuracy")
    return passed("the model was trained, and its predictions have the accuracy that was reported")
