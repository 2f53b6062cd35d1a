"""Maximum matching in a bipartite graph: each expectation is matched with a different value.

Greedy matching is wrong: it can give a value to a lenient expectation and leave a strict one without. Hopcroft-Karp,
O(E sqrt(V)), iterative, deterministic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


def maximum_matching(edges: Sequence[Sequence[int]], right: int) -> list[int]:
    """Return for each left node the right node that it is matched with, or -1.

    `edges[i]` lists the right nodes (below `right`) that left node i accepts.
    """
    taken, takes = [-1] * right, [-1] * len(edges)
    for node, values in enumerate(edges):
        for value in values:
            if taken[value] < 0:
                taken[value], takes[node] = node, value
                break
    while -1 in takes:
        layers = _layers(edges, taken, takes)
        found = False
        for start in range(len(edges)):
            if takes[start] < 0 and _augment(start, edges, taken, takes, layers):
                found = True
        if not found:
            break
    return takes


def _layers(edges: Sequence[Sequence[int]], taken: list[int], takes: list[int]) -> list[int]:
    """Return the distance of each left node from the free ones along alternating paths."""
    layers = [0 if node < 0 else -1 for node in takes]
    queue = deque(i for i, layer in enumerate(layers) if layer == 0)
    while queue:
        node = queue.popleft()
        for value in edges[node]:
            owner = taken[value]
            if owner >= 0 and layers[owner] < 0:
                layers[owner] = layers[node] + 1
                queue.append(owner)
    return layers


def _augment(start: int, edges: Sequence[Sequence[int]], taken: list[int], takes: list[int], layers: list[int]) -> bool:
    """Find and apply an augmenting path from `start`, layer by layer."""
    path = [(start, iter(edges[start]))]
    chosen: list[int] = []
    while path:
        node, values = path[-1]
        for value in values:
            owner = taken[value]
            if owner < 0:
                for (left, _), right in zip(path, [*chosen, value], strict=True):
                    taken[right], takes[left] = left, right
                return True
            if layers[owner] == layers[node] + 1:
                chosen.append(value)
                path.append((owner, iter(edges[owner])))
                break
        else:
            layers[node] = -1
            path.pop()
            if chosen:
                chosen.pop()
    return False
