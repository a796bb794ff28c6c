"""Ask the same question twice through decision-gateway.

Arguments   path of models.toml, path of the store, what to ask. Prints both answers and what the store holds.
"""

import json
import sqlite3
import sys

from decision_gateway import Gateway, SQLiteStore, config, labels

models, path, ask = json.loads(sys.stdin.readline())
with SQLiteStore(path) as store:
    gateway = Gateway(config.load(models), store, labels={"run": "gate"})
    with gateway.client("jev") as client:
        responses = []
        for item in range(2):
            with labels(item=item):
                responses.append(client.system_one(**ask))
answers = [{name: each.model_dump(mode="json") for name, each in one.answers.items()} for one in responses]
with sqlite3.connect(path) as database:
    hits = [hit for (hit,) in database.execute("SELECT hit FROM requests ORDER BY at")]
    observed = [json.loads(body) for (body,) in database.execute("SELECT response FROM observations")]
print(json.dumps({"answers": answers, "hits": hits, "observed": observed}))
