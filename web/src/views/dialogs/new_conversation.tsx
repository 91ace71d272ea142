// A new conversation: project, and a priming script that tells a history it starts with.
import { useEffect, useState } from "react";
import { projectName } from "../../house/threads";
import { withEmoji } from "../../parts/agent_label";
import { useApp, useHouse, useWords } from "../../parts/app_context";
import { keyLabel } from "../../parts/commands";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { go } from "../../parts/route";
import type { PromptView, ScriptRow } from "../../wire/calls";
import { newId } from "../../wire/ids";
import { short } from "../../words/format";
import { writePlace } from "../conversation/drafts";
import { FolderBrowser } from "./folder_browser";
import { ScriptPreview } from "./script_preview";

const SEARCH_MS = 150;
/** A token is about so many characters of prompt. */
const CHARS_PER_TOKEN = 4;
/** No path begins so. */
const OTHER_FOLDER = "*";

export function NewConversation({ withScript, onClose }: { withScript: boolean; onClose: () => void }) {
  const { t } = useWords();
  const { connection, house, announcer } = useApp();
  const { agentName, agentEmoji, agentId, folder, agents, project } = useHouse();
  const [cwd, setCwd] = useState<string | null>(project);
  const [script, setScript] = useState<string | null>(null);
  const [showsInUi, setShowsInUi] = useState(true);
  const [isBusy, setIsBusy] = useState(false);
  const chosen = cwd ?? folder ?? ".";
  const start = async (): Promise<void> => {
    if (isBusy) return;
    if (script === null) {
      // Nothing is created before the first message.
      const draftId = newId();
      writePlace(draftId, { cwd: chosen, agentId });
      onClose();
      go({ view: "new", draftId });
      return;
    }
    setIsBusy(true);
    try {
      const made = await connection.call("create_dialog", {
        sessionId: newId(),
        threadId: `web:room:${newId()}`,
        cwd: chosen,
        ...(agentId === null ? {} : { agentId }),
        priming: { scriptRefs: [script], showInUi: showsInUi },
      });
      await house.refresh();
      onClose();
      go({ view: "conversation", sessionId: made.sessionId, eventId: null });
    } catch (error) {
      announcer.fail(error);
      setIsBusy(false);
    }
  };
  const footer = (
    <>
      <span className="quiet"><StartCost cwd={chosen} /></span>
      <button type="button" className="btn" onClick={onClose}>{t("cancel")}</button>
      <button type="submit" className="btn primary" disabled={isBusy}>{t("start")}<kbd>{keyLabel("mod+enter")}</kbd></button>
    </>
  );
  return (
    <Dialog title={t("newConversation")} onClose={onClose} onSubmit={() => void start()} footer={footer}>
      <div className="dialog-body">
        <div className="form">
          <div className="pair">
            <label><span className="label">{t("agent")}</span><span className="field"><select value={agentId ?? ""} onChange={(event) => house.chooseAgent(event.target.value === "" ? null : event.target.value)}>{agents.length === 0 ? <option value="">{withEmoji({ name: agentName, emoji: agentEmoji })}</option> : null}{agentId === null && agents.length > 0 ? <option value="">{withEmoji({ name: agentName, emoji: agentEmoji })}</option> : null}{agents.filter((it) => agentId !== null || it.name !== agentName).map((it) => <option key={it.agentId} value={it.agentId ?? ""}>{withEmoji(it)}</option>)}</select><Icon name="updown" small /></span></label>
            <ProjectField chosen={chosen} onChoose={setCwd} />
          </div>
          <Scripts chosen={script} onChoose={setScript} startsInSearch={withScript} />
          <label className="tick"><input type="checkbox" checked={showsInUi} disabled={script === null} onChange={(event) => setShowsInUi(event.target.checked)} /><span>{t("showInUi")}<small>{t("showInUiHint")}</small></span></label>
        </div>
        <div className="preview" tabIndex={0} role="region" aria-label={t("preview")}>
          {script === null ? <p className="quiet">{t("previewNone", { agent: agentName })}</p> : <ScriptPreview scriptRef={script} agentName={agentName} />}
        </div>
      </div>
    </Dialog>
  );
}

/** The projects of the house, and any other folder. */
function ProjectField({ chosen, onChoose }: { chosen: string; onChoose: (folder: string) => void }) {
  const { t } = useWords();
  const { projects } = useHouse();
  const [isBrowsing, setIsBrowsing] = useState(false);
  const there = projects.filter((it) => it.exists);
  const isListed = there.some((it) => it.path === chosen);
  return (
    <>
      <label><span className="label">{t("project")}</span><span className="field"><select value={isBrowsing ? OTHER_FOLDER : chosen} title={chosen} onChange={(event) => { setIsBrowsing(event.target.value === OTHER_FOLDER); if (event.target.value !== OTHER_FOLDER) onChoose(event.target.value); }}>{isListed || isBrowsing ? null : <option value={chosen}>{chosen}</option>}{there.map((it) => <option key={it.path} value={it.path}>{projectName(it.path, projects)}</option>)}<option value={OTHER_FOLDER}>{t("otherFolder")}</option></select><Icon name="updown" small /></span></label>
      {isBrowsing ? <FolderBrowser folder={chosen} onFolder={onChoose} /> : null}
    </>
  );
}

function Scripts({ chosen, onChoose, startsInSearch }: { chosen: string | null; onChoose: (ref: string | null) => void; startsInSearch: boolean }) {
  const { t } = useWords();
  const [query, setQuery] = useState("");
  const found = useScripts(query);
  // A script that was found by typing stays in the list when the search is cleared.
  const [picked, setPicked] = useState<ScriptRow | null>(null);
  const isMissing = picked !== null && picked.scriptRef === chosen && !found?.some((it) => it.scriptRef === chosen);
  const scripts = found === null ? null : isMissing ? [picked, ...found] : found;
  return (
    <fieldset>
      <legend className="label">{t("primingScript")}</legend>
      <label className="choice"><input type="radio" name="script" checked={chosen === null} data-first={startsInSearch ? undefined : ""} onChange={() => onChoose(null)} /><span>{t("none")}</span></label>
      {scripts?.map((script) => <ScriptChoice key={script.path} script={script} isChosen={script.scriptRef !== null && script.scriptRef === chosen} onChoose={(ref) => { setPicked(script); onChoose(ref); }} />)}
      {scripts?.length === 0 ? <p className="nothing">{t(query === "" ? "noScripts" : "noScriptMatches")}</p> : null}
      <label className="field more-field"><Icon name="search" /><input type="search" value={query} data-first={startsInSearch ? "" : undefined} placeholder={t("searchScripts")} aria-label={t("searchScripts")} onChange={(event) => setQuery(event.target.value)} /></label>
    </fieldset>
  );
}

function ScriptChoice({ script, isChosen, onChoose }: { script: ScriptRow; isChosen: boolean; onChoose: (ref: string) => void }) {
  const { t } = useWords();
  const { scriptRef, title, records, error } = script;
  if (error !== undefined || scriptRef === null) {
    const message = error === undefined ? script.path : error.line === undefined ? error.message : t("scriptFault", { line: String(error.line), message: error.message });
    return <label className="choice broken"><input type="radio" name="script" disabled /><span className="clip">{scriptRef ?? script.path}<small className="bad">{message}</small></span></label>;
  }
  return (
    <label className="choice"><input type="radio" name="script" checked={isChosen} onChange={() => onChoose(scriptRef)} /><span className="clip">{title ?? scriptRef}<small className="clip">{scriptRef}</small></span>{records === undefined ? null : <span className="num">{t("recordsCount", { n: records })}</span>}</label>
  );
}

/** Recent scripts, or those that match what is typed. */
function useScripts(query: string): readonly ScriptRow[] | null {
  const { connection, announcer } = useApp();
  const { agentId } = useHouse();
  const [scripts, setScripts] = useState<readonly ScriptRow[] | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => {
      const body = { ...(agentId === null ? {} : { agentId }), ...(query.trim() === "" ? {} : { query: query.trim() }) };
      connection.call("list_scripts", body).then((answer) => setScripts(answer.scripts), (error: unknown) => announcer.fail(error));
    }, query === "" ? 0 : SEARCH_MS);
    return () => clearTimeout(timer);
  }, [connection, announcer, agentId, query]);
  return scripts;
}

/** What the conversation starts with, whatever is said in it. */
function StartCost({ cwd }: { cwd: string }) {
  const { t } = useWords();
  const { connection } = useApp();
  const { agentId } = useHouse();
  const [prompt, setPrompt] = useState<PromptView | null>(null);
  useEffect(() => {
    setPrompt(null);
    const timer = setTimeout(() => {
      connection.call("get_prompt", { audience: "owner", cwd, ...(agentId === null ? {} : { agentId }) }).then(setPrompt, () => {});
    }, SEARCH_MS);
    return () => clearTimeout(timer);
  }, [connection, agentId, cwd]);
  if (prompt === null) return null;
  const files = prompt.snapshot.sections.flatMap((section) => section.sources ?? []).filter((source) => source.path !== undefined);
  return t("readsFiles", { n: files.length, tokens: short(Math.round(prompt.systemPrompt.length / CHARS_PER_TOKEN)) });
}
