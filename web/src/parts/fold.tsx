// One line that can be opened. What is folded is not in the document.
import type { ReactNode } from "react";
import { Icon } from "./icon";
import { useOpen } from "./open_state";

interface FoldProps {
  id: string;
  line: ReactNode;
  end?: ReactNode;
  children: ReactNode;
  isOpenAtFirst?: boolean;
  className?: string;
}

export function Fold({ id, line, end, children, isOpenAtFirst = false, className = "" }: FoldProps) {
  const [isOpen, setIsOpen] = useOpen(id, isOpenAtFirst);
  return (
    <details className={`fold ${className}`} open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary><span className="line">{line}<Icon name="right" small className="turner" /><span className="num">{end}</span></span></summary>
      {isOpen ? children : null}
    </details>
  );
}
