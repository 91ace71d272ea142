// The dialog that is open.
import type { OpenDialog } from "../../parts/dialogs";
import { AddProjectDialog } from "./add_project";
import { KeysDialog } from "./keys_dialog";
import { NewConversation } from "./new_conversation";
import { Palette } from "./palette";
import { SaveScriptDialog } from "./save_script";
import { EventsDialog, PromptDialog, RemoveDialog, RenameDialog } from "./small_dialogs";

export function OpenedDialog({ dialog, onClose }: { dialog: OpenDialog; onClose: () => void }) {
  switch (dialog.kind) {
    case "new": return <NewConversation withScript={dialog.withScript} onClose={onClose} />;
    case "saveScript": return <SaveScriptDialog sessionId={dialog.sessionId} onClose={onClose} />;
    case "rename": return <RenameDialog sessionId={dialog.sessionId} title={dialog.title} onClose={onClose} />;
    case "remove": return <RemoveDialog sessionId={dialog.sessionId} onClose={onClose} />;
    case "prompt": return <PromptDialog cwd={dialog.cwd} onClose={onClose} />;
    case "events": return <EventsDialog events={dialog.events} onClose={onClose} />;
    case "addProject": return <AddProjectDialog onClose={onClose} />;
    case "palette": return <Palette onClose={onClose} />;
    case "keys": return <KeysDialog onClose={onClose} />;
  }
}
