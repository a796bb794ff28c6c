"""Read intent contracts through helioai's judgment layer.

Arguments   the requests. Prints one object per request: raw, values, model, request_id, latency_ms; null = abstained.
"""

import asyncio
import json
import sys

answer, sys.stdout = sys.stdout, sys.stderr  # its log lines go to standard output

from helioai.core import judgment  # noqa: E402

(queries,) = json.loads(sys.stdin.readline())


async def read_all() -> list:
    read = [await judgment.intent_contract(query) for query in queries]
    await judgment.aclose()
    return read


contracts = asyncio.run(read_all())
print(
    json.dumps(
        [
            contract
            and {
                "raw": dict(contract.raw),
                "values": dict(contract.values),
                "model": contract.model,
                "request_id": contract.request_id,
            }
            for contract in contracts
        ]
    ),
    file=answer,
)
