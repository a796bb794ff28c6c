"""Rerank with jev-reranker.

Arguments   calls, each {"init": {…}, "method": "rerank" | "relevance_rerank", "query", "documents", "options": {…}}.
            An instruction may be a name of `jev_reranker.instructions`. Prints one result for each.
"""

import json
import sys

from jev_reranker import JevReranker, instructions
from jev_reranker.errors import JevError


def do(call):
    options = {"detail": True, **call.get("options", {})}
    if isinstance(options.get("instruction"), str):
        options["instruction"] = getattr(instructions, options["instruction"])
    try:
        with JevReranker(dotenv_path=None, **call.get("init", {})) as reranker:
            return getattr(reranker, call.get("method", "rerank"))(call["query"], call["documents"], **options)
    except JevError as error:
        return {
            "class": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "text": str(error),
            "detail": error.detail,
        }


(calls,) = json.loads(sys.stdin.readline())
print(json.dumps([do(call) for call in calls]))
