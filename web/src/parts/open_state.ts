// Which folded lines are open. Kept outside the lines, because a line that is scrolled away is not in the document.
import { createContext, useCallback, useContext, useState } from "react";

export const OpenContext = createContext<Map<string, boolean>>(new Map());

export function useOpen(key: string, isOpenAtFirst = false): [boolean, (isOpen: boolean) => void] {
  const known = useContext(OpenContext);
  const [isOpen, setIsOpen] = useState(known.get(key) ?? isOpenAtFirst);
  const change = useCallback((next: boolean) => {
    known.set(key, next);
    setIsOpen(next);
  }, [known, key]);
  return [isOpen, change];
}
