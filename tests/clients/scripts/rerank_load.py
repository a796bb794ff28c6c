"""Three jev-reranker clients at once, each with 20 pointwise calls in flight.

Arguments   query, documents. Prints for each client its scores by document.
"""

import asyncio
import json
import sys

from jev_reranker import JevReranker

query, documents = json.loads(sys.stdin.readline())


async def main():
    clients = [JevReranker(dotenv_path=None, mode="pointwise", max_concurrency=20, max_retries=0) for _ in range(3)]
    ranked = await asyncio.gather(*(client.a_rerank(query, documents) for client in clients))
    return [{str(each["document_index"]): each["score"] for each in one["results"]} for one in ranked]


print(json.dumps(asyncio.run(main())))
