// --- series ------------------------------------------------------------------------------------------------

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const digitOf = new Map([...DIGITS].map((digit, value) => [digit, value]));
const placeOf = new Map(data.heads.map((head, place) => [head.name, place]));

// The inverse of what series.rs does: [first, step, low, high, codes] or [first, step, count, value].
function decode([first, step, low, high, codes]) {
  const at = (_, i) => first + i * step;
  if (codes === undefined) {
    return { x: Array.from({ length: low }, at), y: new Array(low).fill(high) };
  }
  const y = Array.from({ length: codes.length / 2 }, (_, i) => {
    const code = digitOf.get(codes[2 * i]) * 64 + digitOf.get(codes[2 * i + 1]);
    if (code < 2) return code === 0 ? null : 0;
    const place = (code - 2) / 4093;
    return low < 0 ? low + place * (high - low) : low * (high / low) ** place;
  });
  return { x: y.map(at), y };
}

const chosen = () => ['workload', 'threads', 'repeat'].map((what) => Number(byId(`choose-${what}`).value));

function trialOf(config) {
  const [workload, threads, repeat] = chosen();
  return data.trials.find((trial) => trial.config === config && trial.workload === workload &&
    trial.threads === threads && trial.repeat === repeat);
}

