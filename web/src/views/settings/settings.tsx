// Settings and doctor: what is wrong with the house, which model answers, what is allowed, what it has cost.
import { useCallback, useEffect, useState } from "react";
import type { Preferences } from "../../house/preferences";
import { useApp, useHouse, useIsOnline, usePreferences, useWords } from "../../parts/app_context";
import { Icon } from "../../parts/icon";
import { Quoted } from "../../parts/quoted";
import { hrefOf } from "../../parts/route";
import type { CostSum, DoctorCheck, ModelRow } from "../../wire/calls";
import { ConnectionLost, messageOf } from "../../wire/errors";
import { clockTime, grouped, listed, money, short, shortDate } from "../../words/format";
import type { WordKey } from "../../words/words";
import { ConnectionBanner } from "../conversation/banners";
import { Projects } from "./projects";
import { Section } from "./section";

export function SettingsView() {
  const { t } = useWords();
  return (
    <main className="main" id="conversation">
      <header className="head"><a className="tool only-phone" href={hrefOf({ view: "list" })} aria-label={t("allConversations")}><Icon name="left" /></a><div className="titles"><h1 className="clip">{t("settingsAndDoctor")}</h1></div></header>
      <ConnectionBanner isTurnOpen={false} />
      <div className="page" tabIndex={0} role="region" aria-label={t("settingsAndDoctor")}>
        <div className="page-in"><Doctor /><Projects /><Models /><Grants /><Repositories /><Costs /><ThisPage /></div>
      </div>
    </main>
  );
}

/** What a call answers, asked when the page is connected, and again on request. */
function useAnswer<T>(ask: () => Promise<T>): { answer: T | null; error: string | null; again: () => void; isBusy: boolean } {
  const isOnline = useIsOnline();
  const [state, setState] = useState<{ answer: T | null; error: string | null; isBusy: boolean }>({ answer: null, error: null, isBusy: true });
  const again = useCallback(() => {
    setState((before) => ({ ...before, isBusy: true }));
    ask().then(
      (answer) => setState({ answer, error: null, isBusy: false }),
      (error: unknown) => setState((before) => ({ ...before, error: error instanceof ConnectionLost ? before.error : messageOf(error), isBusy: false })),
    );
  }, [ask]);
  useEffect(() => {
    if (isOnline) again();
  }, [isOnline, again]);
  return { ...state, again };
}

const STATES: Record<DoctorCheck["state"], WordKey> = { ok: "stateOk", warn: "stateWarn", fail: "stateFail" };

function Doctor() {
  const { t } = useWords();
  const { connection } = useApp();
  const { folder, agentId } = useHouse();
  const ask = useCallback(() => connection.call("check_house", { cwd: folder ?? ".", ...(agentId === null ? {} : { agentId }) }), [connection, folder, agentId]);
  const { answer, error, again, isBusy } = useAnswer(ask);
  const checks = [...(answer?.checks ?? [])].sort((a, b) => rank(a) - rank(b));
  const nBad = checks.filter((check) => check.state !== "ok").length;
  const intro = isBusy && answer === null ? t("checking") : error !== null ? t("failedCall", { reason: error }) : nBad === 0 ? t("allWell", { n: checks.length }) : t("problems", { n: nBad, m: checks.length });
  return (
    <Section title={t("doctor")} intro={intro} action={<button className="btn compact push" disabled={isBusy} onClick={again}><Icon name="retry" small />{t(isBusy ? "checking" : "checkAgain")}</button>}>
      {checks.length === 0 ? null : (
        <table className="files checks-table">
          <thead><tr><th>{t("state")}</th><th>{t("check")}</th><th className="note">{t("detail")}</th></tr></thead>
          <tbody>{checks.map((check) => <tr key={check.name}><td className={`mark-cell ${check.state}`}><Icon name={check.state === "ok" ? "check" : "alert"} small /><span>{t(STATES[check.state])}</span></td><td className="name-cell">{check.name}</td><td className="note"><span><Quoted text={check.detail} /></span>{check.fix === undefined ? null : <span className="fix"><Quoted text={check.fix} /></span>}</td></tr>)}</tbody>
        </table>
      )}
    </Section>
  );
}

const rank = (check: DoctorCheck): number => ({ fail: 0, warn: 1, ok: 2 })[check.state];

function Models() {
  const { t } = useWords();
  const { connection, house, announcer } = useApp();
  const { models } = useHouse();
  const isOnline = useIsOnline();
  const use = (name: string): void => {
    connection.call("use_model", { name }).then(() => {
      announcer.tell(t("modelInUseNow", { model: name }));
      return house.refreshModels();
    }, (error: unknown) => announcer.fail(error));
  };
  if (models === null) return null;
  return (
    <Section title={t("models")} intro={t("modelsIntro")}>
      <table className="files">
        <thead><tr><th>{t("name")}</th><th className="n">{t("contextSize")}</th><th>{t("key")}</th><th className="note"><span className="vh">{t("use")}</span></th></tr></thead>
        <tbody>
          {models.models.map((model) => (
            <tr key={model.name}>
              <td className="name-cell">{model.name}{model.model === model.name ? null : <small className="quiet"> {model.model}</small>}</td>
              <td className="n">{model.contextWindow === null ? "–" : short(model.contextWindow)}</td>
              <td className={model.hasKey ? "quiet" : "bad"}>{keyText(t, model)}</td>
              <td className="note">{model.used ? <span className="tag now">{t("inUse")}</span> : <button className="btn compact" disabled={!isOnline || !model.hasKey} onClick={() => use(model.name)}>{t("use")}<span className="vh"> {model.name}</span></button>}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {models.found.length === 0 ? null : <><h3>{t("serversFound")}</h3>{models.found.map((server) => <div key={server.baseUrl} className="code"><div className="code-head"><span>{server.name} · {server.baseUrl}</span></div><pre tabIndex={0}>{server.settings}</pre></div>)}</>}
    </Section>
  );
}

function keyText(t: ReturnType<typeof useWords>["t"], model: ModelRow): string {
  if (model.keyVariable === null) return t("keyNone");
  return model.hasKey ? t("keySet") : t("keyMissing", { name: model.keyVariable });
}

function Grants() {
  const { t } = useWords();
  const { connection, house, announcer } = useApp();
  const { grants } = useHouse();
  const isOnline = useIsOnline();
  useEffect(() => {
    if (isOnline) void house.refreshGrants();
  }, [house, isOnline]);
  const revoke = (grant: string): void => {
    connection.call("revoke_grant", { grant }).then(() => {
      announcer.tell(t("revoked"));
      return house.refreshGrants();
    }, (error: unknown) => announcer.fail(error));
  };
  return (
    <Section title={t("standingApprovals")}>
      {grants.length === 0 ? <p className="intro">{t("noGrants")}</p> : (
        <ul className="rows wide-rows">{grants.map((grant) => <li key={grant.grantId}><code className="clip">{grant.argvPrefix?.join(" ") ?? grant.path ?? grant.workspace}</code><span className="num">{t("until", { time: clockTime(Date.parse(grant.expiresAt)) })} <button className="btn compact" disabled={!isOnline} onClick={() => revoke(grant.grantId)}>{t("revoke")}</button></span></li>)}</ul>
      )}
    </Section>
  );
}

function Repositories() {
  const { t, language } = useWords();
  const { connection, announcer } = useApp();
  const isOnline = useIsOnline();
  const ask = useCallback(() => connection.call("list_repositories", {}), [connection]);
  const { answer, again } = useAnswer(ask);
  const remove = (path: string): void => {
    connection.call("distrust_repository", { path }).then(again, (error: unknown) => announcer.fail(error));
  };
  return (
    <Section title={t("repositories")} intro={t("repositoriesIntro")}>
      <ul className="rows wide-rows">
        {answer?.repositories.map((it, index) => (
          <li key={it.path}><code className="clip">{it.path}</code><span className="num">{listed(language, index === 0 ? t("house") : "", t("since", { date: shortDate(Date.parse(it.trustedAt), Date.now(), language) }))}{index === 0 ? null : <button className="btn compact" disabled={!isOnline} onClick={() => remove(it.path)}>{t("distrust")}</button>}</span></li>
        ))}
      </ul>
    </Section>
  );
}

function Costs() {
  const { t } = useWords();
  const { connection } = useApp();
  const [by, setBy] = useState<"day" | "model">("day");
  const ask = useCallback(() => connection.call("sum_costs", { by }), [connection, by]);
  const { answer } = useAnswer(ask);
  const seg = <div className="seg" role="group" aria-label={t("costs")}>{(["day", "model"] as const).map((it) => <button key={it} aria-pressed={by === it} onClick={() => setBy(it)}>{t(it)}</button>)}</div>;
  return (
    <Section title={t("costs")} action={seg}>
      {answer === null ? null : (
        <table className="files">
          <thead><tr><th>{t(by)}</th><th className="n">{t("requestsColumn")}</th><th className="n">{t("tokensIn")}</th><th className="n">{t("tokensOutColumn")}</th><th className="n">{t("cost")}</th></tr></thead>
          <tbody>{answer.rows.slice(0, 31).map((row) => <CostRow key={row.name} name={row.name} sum={row.sum} />)}</tbody>
          <tfoot><CostRow name={t("total")} sum={answer.total} /></tfoot>
        </table>
      )}
    </Section>
  );
}

function CostRow({ name, sum }: { name: string; sum: CostSum }) {
  const { t } = useWords();
  const { usage, nRequests, nUnpriced } = sum;
  return (
    <tr>
      <td className="name-cell">{name}</td><td className="n">{grouped(nRequests)}</td><td className="n">{short(usage.input + usage.cacheRead + usage.cacheWrite)}</td><td className="n">{short(usage.output)}</td>
      <td className="n">{usage.costMicros === undefined ? t("unknownPrice") : money(usage.costMicros)}{usage.costMicros !== undefined && nUnpriced > 0 ? <small className="quiet"> {t("unpriced", { n: nUnpriced })}</small> : null}</td>
    </tr>
  );
}

function ThisPage() {
  const { t } = useWords();
  const preferences = usePreferences();
  const languages: [Preferences["language"], string][] = [["auto", t("languageAuto")], ["en", "English"], ["zh", "简体中文"]];
  const themes: [Preferences["theme"], string][] = [["auto", t("themeAuto")], ["light", t("themeLight")], ["dark", t("themeDark")]];
  return (
    <Section title={t("thisPage")} intro={t("keptInBrowser")}>
      <dl className="choices">
        <Choice label={t("language")} options={languages} value={preferences.language} change={(language) => ({ language })} />
        <Choice label={t("theme")} options={themes} value={preferences.theme} change={(theme) => ({ theme })} />
        <Choice label={t("letterKeys")} options={[[true, t("on")], [false, t("off")]]} value={preferences.letterKeys} change={(letterKeys) => ({ letterKeys })} />
      </dl>
    </Section>
  );
}

function Choice<T extends string | boolean>({ label, options, value, change }: { label: string; options: readonly [T, string][]; value: T; change: (value: T) => Partial<Preferences> }) {
  const { preferences } = useApp();
  return (
    <div><dt>{label}</dt><dd><div className="seg" role="group" aria-label={label}>{options.map(([it, name]) => <button key={String(it)} aria-pressed={it === value} onClick={() => preferences.change(change(it))}>{name}</button>)}</div></dd></div>
  );
}
