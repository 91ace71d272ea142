// A sentence of the program, in which backquotes mark what is typed.
export function Quoted({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
