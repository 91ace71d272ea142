// The message that is being changed in the composer, to be sent as a new branch.
import { createContext } from "react";
import type { UserMessage } from "../../wire/types";

export interface EditState {
  event: UserMessage | null;
  begin: (event: UserMessage) => void;
  end: () => void;
}

export const EditContext = createContext<EditState>({ event: null, begin: () => {}, end: () => {} });
