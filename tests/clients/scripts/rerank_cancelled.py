"""Begin to rerank, cancel it when a second line arrives on standard input, and print what became of it.

Arguments   query, documents.
"""

import asyncio
import json
import sys

from jev_reranker import JevReranker

query, documents = json.loads(sys.stdin.readline())


async def main():
    async with asyncio.TaskGroup() as group:
        task = group.create_task(JevReranker(dotenv_path=None, mode="pointwise").a_rerank(query, documents))
        await asyncio.to_thread(sys.stdin.readline)
        task.cancel()
    print(json.dumps("cancelled" if task.cancelled() else "finished"))


asyncio.run(main())
