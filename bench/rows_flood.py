"""A flood of wrong ordinary secrets: what it does to wallets, to memory, and how it is refused."""


from bench.run import Plan

# Wrong secrets a second that are sent, as a multiple of those that this machine could hash.
OVERLOAD = 10

# Wrong secrets of one request, and connections that carry them: more than two lanes of 24.
WRONG_COUNT = 16
CONNECTIONS_COUNT = 56

REFUSAL_MS_MAX = 50.0
SHARE_MIN = 0.5

# Limits by address would end the flood before it began.
SETTINGS = {"DEEDS_RATE_LIMITS": "failures=off"}


def _steps_count(plan: Plan) -> int:
    return 2 * plan.rounds + 1
