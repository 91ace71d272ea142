// Which dialog is open. One at a time; views ask for it by name.
import { createContext } from "react";
import type { LogEvent } from "../wire/types";

export type OpenDialog =
  | { kind: "new"; withScript: boolean }
  | { kind: "saveScript"; sessionId: string }
  | { kind: "rename"; sessionId: string; title: string }
  | { kind: "remove"; sessionId: string }
  | { kind: "prompt"; cwd: string }
  | { kind: "events"; events: readonly LogEvent[] }
  | { kind: "addProject" }
  | { kind: "palette" }
  | { kind: "keys" };

export interface Dialogs {
  open: (dialog: OpenDialog) => void;
  close: () => void;
}

export const DialogContext = createContext<Dialogs>({ open: () => {}, close: () => {} });
