// An agent as people see it: its emoji, where it has one, and its name.

export function AgentLabel({ name, emoji }: { name: string; emoji: string | null }) {
  if (emoji === null) return name;
  return <><span className="emoji" aria-hidden="true">{emoji}</span> {name}</>;
}

/** The same where only a text can stand. */
export function withEmoji({ name, emoji }: { name: string; emoji: string | null }): string {
  return emoji === null ? name : `${emoji} ${name}`;
}
