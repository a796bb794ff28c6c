"""Ask one question of each kind through semantic-operators, which checks every number before it shows an answer.

Arguments   state, options of the choice, levels of the score, model. Prints value, probabilities and call of each.
"""

import json
import sys

from semantic_operators import Boolean, Choice, Score
from semantic_operators.providers.typesafe import TypeSafe
from typesafe_sdk import TypeSafeClient

state, options, levels, model = json.loads(sys.stdin.readline())
questions = {
    "refund": Boolean("Does the customer want money back?"),
    "queue": Choice("Which queue?", dict.fromkeys(options)),
    "urgency": Score("How soon?", levels),
}
with TypeSafeClient() as client:
    answers = TypeSafe(client, model=model).ask(state, questions)
print(
    json.dumps(
        {
            name: {
                "value": answer.value,
                "probabilities": answer.probabilities,
                "model": answer.call.model,
                "tokens": [answer.call.input_tokens, answer.call.output_tokens],
            }
            for name, answer in answers.items()
        }
    )
)
