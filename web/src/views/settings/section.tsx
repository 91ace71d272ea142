// A part of the settings: a heading, what can be done with the whole of it, and its rows.
import type { ReactNode } from "react";

export function Section({ title, intro, action, children }: { title: string; intro?: string; action?: ReactNode; children: ReactNode }) {
  return <section><div className="section-head"><h2>{title}</h2>{action}</div>{intro === undefined ? null : <p className="intro">{intro}</p>}{children}</section>;
}
