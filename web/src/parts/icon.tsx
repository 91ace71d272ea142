// The page's icons: one sprite, drawn once; every use names a symbol of it.
import { memo } from "react";

const shapes = {
  kith: <><path d="M4 2v12M4 10c4.4 0 7.5-2.8 7.8-7.6M7.8 9c2.4.5 3.8 2.2 4 4.8"/></>,
  terminal: <><path d="M2.5 4.2 6.2 8l-3.7 3.8M8.2 12h5.3"/></>,
  telegram: <><path d="M14.2 2.4 1.8 7.2l4.3 1.9 8.1-6.7-2.3 10.8-5.8-4.1v4.3l2.4-2.6"/></>,
  feishu: <><path d="M4 3h5c1.2 1.2 2 2.5 2.4 4M2 6.2c2.6 2.8 5 4.2 7.6 4.2 2 0 3.3-1.2 4.6-3.6-1.4-.7-3-.5-4.2.6L8.6 8.7M2 6.2v5.2c3.6 2.6 8 2.2 10.3-1.8"/></>,
  peer: <><circle cx="4.6" cy="8" r="2.8"/><circle cx="11.4" cy="8" r="2.8"/></>,
  pulse: <><path d="M1.5 8.5h3l1.9-4.7 3 8.6 1.9-3.9h3.2"/></>,
  clock: <><circle cx="8" cy="8" r="5.8"/><path d="M8 4.8V8l2.2 1.6"/></>,
  window: <><rect x="2" y="3" width="12" height="10" rx="1.2"/><path d="M2 6h12"/></>,
  search: <><circle cx="7" cy="7" r="4.3"/><path d="m10.3 10.3 3.2 3.2"/></>,
  compose: <><path d="M13.3 8.6v3.7a1 1 0 0 1-1 1H3.7a1 1 0 0 1-1-1V3.7a1 1 0 0 1 1-1h3.7M11.8 2.4l1.8 1.8-5.8 5.8-2.3.5.5-2.3z"/></>,
  right: <><path d="m6 3.5 4.5 4.5L6 12.5"/></>,
  left: <><path d="M10 3.5 5.5 8l4.5 4.5"/></>,
  down: <><path d="M3.5 6 8 10.5 12.5 6"/></>,
  updown: <><path d="m4.5 6 3.5-3.5L11.5 6M4.5 10 8 13.5l3.5-3.5"/></>,
  branch: <><circle cx="4.5" cy="3.5" r="1.6"/><circle cx="4.5" cy="12.5" r="1.6"/><circle cx="11.5" cy="4.5" r="1.6"/><path d="M4.5 5.1v5.8M11.5 6.1c0 3-7 1.6-7 4.8"/></>,
  clone: <><rect x="5.2" y="5.2" width="8.6" height="8.6" rx="1.2"/><path d="M3 10.4V3.7a.7.7 0 0 1 .7-.7h6.7M9.5 7.6v3.8M7.6 9.5h3.8"/></>,
  file: <><path d="M9 2H4.5a1 1 0 0 0-1 1v10a1 1 0 0 0 1 1h7a1 1 0 0 0 1-1V5.5zM9 2v3.5h3.5"/></>,
  folder: <><path d="M2 4.5a1 1 0 0 1 1-1h3.2l1.5 1.7H13a1 1 0 0 1 1 1v5.8a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1z"/></>,
  pencil: <><path d="m10.8 2.8 2.4 2.4-7.6 7.6-3 .6.6-3z"/></>,
  thought: <><circle cx="8" cy="8" r="5.5" strokeDasharray="0.01 2.87"/></>,
  steer: <><path d="M3 13c0-4.8 3-7 9.5-7M9.2 2.7 12.6 6 9.2 9.3"/></>,
  note: <><path d="M4.2 11V7.2a3.8 3.8 0 0 1 7.6 0V11l1.2 1.3H3zM6.8 14.3h2.4"/></>,
  shield: <><path d="M8 1.8 3 3.6v4.2c0 3 2 5.2 5 6.4 3-1.2 5-3.4 5-6.4V3.6zM8 5v3.4M8 10.7v.05"/></>,
  stop: <><rect x="4.5" y="4.5" width="7" height="7" rx="1"/></>,
  clip: <><path d="m12.9 7.5-5.2 5.2a3 3 0 0 1-4.3-4.3L8.8 3a2 2 0 0 1 2.9 2.9L6.5 11a1 1 0 0 1-1.5-1.4l4.7-4.7"/></>,
  grip: <><circle cx="6" cy="4" r="1"/><circle cx="10" cy="4" r="1"/><circle cx="6" cy="8" r="1"/><circle cx="10" cy="8" r="1"/><circle cx="6" cy="12" r="1"/><circle cx="10" cy="12" r="1"/></>,
  close: <><path d="m4 4 8 8M12 4l-8 8"/></>,
  check: <><path d="m3.2 8.5 3.2 3.2 6.4-7"/></>,
  alert: <><path d="M8 2.5 14.2 13.2H1.8zM8 6.5v3M8 11.3v.05"/></>,
  more: <><path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2"/></>,
  panel: <><rect x="2" y="3" width="12" height="10" rx="1.2"/><path d="M10 3v10"/></>,
  braces: <><path d="M6.3 2.5c-1.8 0-2.3.8-2.3 2v1.3C4 7 3.4 7.7 2.3 8c1.1.3 1.7 1 1.7 2.2v1.3c0 1.2.5 2 2.3 2M9.7 2.5c1.8 0 2.3.8 2.3 2v1.3c0 1.2.6 1.9 1.7 2.2-1.1.3-1.7 1-1.7 2.2v1.3c0 1.2-.5 2-2.3 2"/></>,
  sliders: <><path d="M2 5h6.5M12.5 5H14M2 11h1.5M7.5 11H14"/><circle cx="10.5" cy="5" r="1.8"/><circle cx="5.5" cy="11" r="1.8"/></>,
  offline: <><path d="M1.8 6c1.7-1.5 3.6-2.3 5.7-2.4M10.8 4.2c1.2.4 2.3 1 3.4 1.8M4.3 8.6c1-.8 2-1.3 3.1-1.5M6.7 11.2c.8-.6 1.8-.6 2.6 0M2.5 2.5l11 11"/></>,
  undo: <><path d="M3 6.5h6.5a3.3 3.3 0 0 1 0 6.6H6M5.8 3.5 2.8 6.5l3 3"/></>,
  save: <><path d="M4 2.5h8v11l-4-3-4 3z"/></>,
  link: <><path d="m6.5 9.5 3-3M7 4.8l1.3-1.3a2.9 2.9 0 0 1 4.2 4.2L11.2 9M9 11.2l-1.3 1.3a2.9 2.9 0 0 1-4.2-4.2L4.8 7"/></>,
  copy: <><rect x="5.5" y="5.5" width="8" height="8" rx="1.2"/><path d="M3 10.3V3.7a.7.7 0 0 1 .7-.7h6.6"/></>,
  "down-arrow": <><path d="M8 2.5v8M4.7 7.4 8 10.7l3.3-3.3M3 13.5h10"/></>,
  menu: <><path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11"/></>,
  person: <><circle cx="8" cy="5.3" r="2.8"/><path d="M2.8 13.7c.6-2.8 2.6-4.2 5.2-4.2s4.6 1.4 5.2 4.2"/></>,
  keyboard: <><rect x="1.8" y="4" width="12.4" height="8" rx="1.2"/><path d="M4.3 6.6h.01M6.8 6.6h.01M9.3 6.6h.01M11.7 6.6h.01M5.5 9.4h5"/></>,
  retry: <><path d="M12.9 8a4.9 4.9 0 1 1-1.5-3.5M13 2.3v2.9h-2.9"/></>,
  trash: <><path d="M3 4.5h10M6.3 4.5V3a.6.6 0 0 1 .6-.6h2.2a.6.6 0 0 1 .6.6v1.5M4.4 4.5l.6 8.4a.8.8 0 0 0 .8.7h4.4a.8.8 0 0 0 .8-.7l.6-8.4"/></>,
  globe: <><circle cx="8" cy="8" r="5.8"/><path d="M2.2 8h11.6M8 2.2c3.4 3.6 3.4 8 0 11.6M8 2.2c-3.4 3.6-3.4 8 0 11.6"/></>,
  list: <><path d="M5.5 4.3h8M5.5 8h8M5.5 11.7h8M2.5 4.3h.01M2.5 8h.01M2.5 11.7h.01"/></>,
  spark: <><path d="M8 2.2v3.2M8 10.6v3.2M2.2 8h3.2M10.6 8h3.2M4.2 4.2l1.8 1.8M10 10l1.8 1.8M11.8 4.2 10 6M6 10l-1.8 1.8"/></>,
  image: <><rect x="2" y="3" width="12" height="10" rx="1.2"/><circle cx="5.6" cy="6.3" r="1.1"/><path d="m2.6 11.6 3.6-3.4 2.4 2.2 2-1.8 3 2.8"/></>,
} as const;

export type IconName = keyof typeof shapes;

export const Sprite = memo(function Sprite() {
  return (
    <svg width="0" height="0" className="sprite" aria-hidden="true">
      {Object.entries(shapes).map(([name, shape]) => <symbol key={name} id={`i-${name}`} viewBox="0 0 16 16">{shape}</symbol>)}
    </svg>
  );
});

/** An icon. With a label it is an image of its own; without, decoration. */
export function Icon({ name, small = false, label, className = "" }: { name: IconName; small?: boolean; label?: string; className?: string }) {
  const naming = label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label };
  return <svg className={`i${small ? " small" : ""}${className === "" ? "" : ` ${className}`}`} {...naming}><use href={`#i-${name}`} /></svg>;
}
