"""Human labels: published label sets as ratings, beside the judges that were asked the same."""

from axisjudge.labels.agentprocessbench import read_agentprocessbench
from axisjudge.labels.agentrx import read_agentrx

__all__ = ["read_agentprocessbench", "read_agentrx"]
