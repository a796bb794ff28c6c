"""Print jev-reranker's own instruction for judging relevance."""

import json

from jev_reranker.instructions import RELEVANCE_INSTRUCTION

print(json.dumps(RELEVANCE_INSTRUCTION))
