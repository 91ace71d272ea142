// A button that opens a list of actions beneath it.
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Icon, type IconName } from "./icon";

export interface MenuItem {
  label: string;
  icon?: IconName;
  onChoose: () => void;
  isCurrent?: boolean;
  isDisabled?: boolean;
}

export function Menu({ label, className, children, items }: { label: string; className: string; children: ReactNode; items: readonly MenuItem[] }) {
  const [isOpen, setIsOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    if (!isOpen) return undefined;
    root.current?.querySelector<HTMLElement>("[role=menuitem]:not(:disabled)")?.focus();
    const close = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) setIsOpen(false);
    };
    document.addEventListener("pointerdown", close);
    return () => document.removeEventListener("pointerdown", close);
  }, [isOpen]);
  const leave = (): void => {
    setIsOpen(false);
    root.current?.querySelector<HTMLElement>("button")?.focus();
  };
  const move = (by: number): void => {
    const all = [...(root.current?.querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    all[(at + by + all.length) % all.length]?.focus();
  };
  return (
    <div className="menu-root" ref={root}>
      <button type="button" className={className} aria-label={label} title={label} aria-haspopup="menu" aria-expanded={isOpen} aria-controls={isOpen ? id : undefined} onClick={() => setIsOpen(!isOpen)}>{children}</button>
      {isOpen ? (
        <ul
          className="menu"
          id={id}
          role="menu"
          aria-label={label}
          onKeyDown={(event) => {
            if (event.key === "Escape") leave();
            else if (event.key === "ArrowDown") move(1);
            else if (event.key === "ArrowUp") move(-1);
            else if (event.key === "Tab") setIsOpen(false);
            else return;
            event.preventDefault();
            event.stopPropagation();
          }}
        >
          {items.map((item) => (
            <li key={item.label} role="none">
              <button type="button" role="menuitem" disabled={item.isDisabled} aria-current={item.isCurrent ? "true" : undefined} onClick={() => { leave(); item.onChoose(); }}>
                {item.icon === undefined ? <span /> : <Icon name={item.icon} />}
                <span className="clip">{item.label}</span>
                {item.isCurrent ? <Icon name="check" small /> : null}
              </button>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
