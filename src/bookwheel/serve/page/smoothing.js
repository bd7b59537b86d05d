// Curves made smooth: each point is the mean of those before it, the older the lighter, and the first ones count fully.

export function smooth(points, weight) {
  let [sum, mass] = [0, 0];
  return points.map(([x, y]) => {
    sum = weight * sum + (1 - weight) * y;
    mass = weight * mass + (1 - weight);
    return [x, mass ? sum / mass : y];
  });
}
