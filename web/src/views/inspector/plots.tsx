// Tokens and cost over the session. A click chooses the request.
import { runningSums, tokensIn } from "../../log/inspect";
import type { RequestState } from "../../log/state";
import { useWords } from "../../parts/app_context";
import { listed, money, short } from "../../words/format";

const WIDTH = 232;
const BARS_HEIGHT = 56;
const CURVE_HEIGHT = 36;

interface PlotProps { requests: readonly RequestState[]; chosen: number; onChoose: (index: number) => void }

export function Plots(props: PlotProps) {
  return <div className="plots"><TokenBars {...props} /><SumCurve {...props} /></div>;
}

function TokenBars({ requests, chosen, onChoose }: PlotProps) {
  const { t } = useWords();
  const values = requests.map(tokensIn);
  const high = Math.max(1, ...values.map((it) => it.all));
  const low = Math.min(...values.map((it) => it.all));
  const step = WIDTH / Math.max(1, requests.length);
  const width = Math.max(0.6, Math.min(12, step * 0.6));
  const y = (tokens: number): number => (tokens / high) * (BARS_HEIGHT - 4);
  return (
    <>
      <figure className="plot">
        <figcaption><span>{t("tokensIn")}</span><b>{short(values[chosen]?.all ?? 0)}</b></figcaption>
        <svg viewBox={`0 -4 ${WIDTH} 61`} role="img" aria-label={t("tokensInOf", { n: requests.length, low: short(low), high: short(high) })}>
          {values.map(({ all, cached }, index) => {
            const x = step * index + (step - width) / 2;
            return (
              <g key={index} onClick={() => onChoose(index)}>
                <rect className="hit" x={step * index} y={-4} width={step} height={60} />
                <rect className="cached" x={x} y={BARS_HEIGHT - y(cached)} width={width} height={y(cached)} />
                <rect className="fresh" x={x} y={BARS_HEIGHT - y(all)} width={width} height={y(all) - y(cached)} />
                {index === chosen ? <rect className="here" x={x - 2.5} y={-3} width={width + 5} height={59} rx={2} /> : null}
              </g>
            );
          })}
          <path className="axis" d={`M0 56.5H${WIDTH}`} />
        </svg>
      </figure>
      <div className="keys"><span><svg viewBox="0 0 8 8" className="plot"><rect className="cached" width="8" height="8" rx="1.5" /></svg>{t("fromCache")}</span><span><svg viewBox="0 0 8 8" className="plot"><rect className="fresh" width="8" height="8" rx="1.5" /></svg>{t("fresh")}</span></div>
    </>
  );
}

function SumCurve({ requests, chosen, onChoose }: PlotProps) {
  const { t, language } = useWords();
  const { sums, isMoney } = runningSums(requests);
  const high = Math.max(1, sums.at(-1) ?? 0);
  const step = WIDTH / Math.max(1, requests.length);
  const x = (index: number): number => step * (index + 0.5);
  const y = (sum: number): number => CURVE_HEIGHT - (sum / high) * (CURVE_HEIGHT - 3);
  const show = isMoney ? money : short;
  const points = sums.map((sum, index) => `${x(index).toFixed(1)},${y(sum).toFixed(1)}`);
  return (
    <figure className="plot">
      <figcaption><span>{t(isMoney ? "costSoFar" : "tokensSoFar")}</span><b>{show(sums[chosen] ?? 0)}</b></figcaption>
      <svg viewBox={`0 -4 ${WIDTH} 41`} role="img" aria-label={isMoney ? t("costRising", { cost: show(high) }) : listed(language, t("tokensSoFar"), show(high))}>
        <polygon className="area" points={`${x(0)},36 ${points.join(" ")} ${x(sums.length - 1)},36`} />
        <polyline className="curve" points={points.join(" ")} />
        <path className="axis" d={`M0 36.5H${WIDTH}`} />
        {sums.map((_, index) => <rect key={index} className="hit" x={step * index} y={-4} width={step} height={41} onClick={() => onChoose(index)} />)}
        {sums[chosen] === undefined ? null : <circle className="pin" cx={x(chosen)} cy={y(sums[chosen])} r={2.8} />}
      </svg>
    </figure>
  );
}
