// A dialog above the page. The browser keeps the focus inside and the rest inert, and gives the focus back.
import { type ReactNode, useEffect, useRef } from "react";
import { useWords } from "./app_context";
import { Icon } from "./icon";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  footer?: ReactNode;
  isSmall?: boolean;
  onSubmit?: () => void;
}

export function Dialog({ title, onClose, children, footer, isSmall = false, onSubmit }: DialogProps) {
  const { t } = useWords();
  return (
    <Modal label={title} onClose={onClose} className={`dialog${isSmall ? " small" : ""}`} {...(onSubmit === undefined ? {} : { onSubmit })}>
      <header><h2>{title}</h2><button type="button" className="tool" aria-label={t("close")} title={t("close")} onClick={onClose}><Icon name="close" /></button></header>
      {children}
      {footer === undefined ? null : <footer>{footer}</footer>}
    </Modal>
  );
}

/** A `<dialog>` that is open for as long as it is mounted. */
export function Modal({ label, onClose, className, children, onSubmit }: { label: string; onClose: () => void; className: string; children: ReactNode; onSubmit?: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return undefined;
    element.showModal();
    // The browser gives the focus to the first control, which closes the dialog. (`autoFocus` comes too early: React
    // sets the focus while the dialog is still closed.)
    element.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className="over"
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <form
        className={className}
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit?.();
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) onSubmit?.();
        }}
      >
        {children}
      </form>
    </dialog>
  );
}
