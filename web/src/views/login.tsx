// What is shown to a browser that is not logged in, or whose page is of another version.
import { useState } from "react";
import { useApp, useWords } from "../parts/app_context";
import { CopyButton } from "../parts/copy_button";
import { Icon } from "../parts/icon";
import { logIn, type LoginResult } from "../wire/browser_ports";

const COMMAND = "kith up --open";

export function LoginView({ refused }: { refused: LoginResult | null }) {
  const { t } = useWords();
  const { connection } = useApp();
  const [code, setCode] = useState("");
  const [result, setResult] = useState<LoginResult | null>(refused);
  const submit = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    const answer = await logIn(code.trim());
    setResult(answer);
    if (answer === "ok") connection.tryNow();
  };
  return (
    <main className="alone">
      <form className="alone-box" onSubmit={(event) => void submit(event)}>
        <Icon name="kith" className="kith big" />
        <h1>{t("loginTitle")}</h1>
        {result === "refused" || result === "unreachable" ? <p className="warn" role="alert"><Icon name="alert" /><span>{t(result === "refused" ? "loginRefused" : "loginUnreachable")}</span></p> : null}
        <p className="quiet">{t("loginHow")}</p>
        <div className="code command"><pre><code>{COMMAND}</code></pre><CopyButton text={COMMAND} /></div>
        <label><span className="label">{t("loginCode")}</span><span className="field"><input value={code} autoComplete="one-time-code" spellCheck={false} onChange={(event) => setCode(event.target.value)} /></span></label>
        <button className="btn primary" disabled={code.trim() === ""}>{t("logIn")}</button>
      </form>
    </main>
  );
}

export function OutdatedView() {
  const { t } = useWords();
  return (
    <main className="alone"><div className="alone-box"><Icon name="kith" className="kith big" /><h1>{t("outdatedTitle")}</h1><p className="quiet">{t("outdated")}</p><button className="btn primary" onClick={() => location.reload()}>{t("reload")}</button></div></main>
  );
}
