// The projects of the house: folders that conversations belong to, added and removed here.
import { useContext, useEffect } from "react";
import { projectName } from "../../house/threads";
import { useApp, useHouse, useIsOnline, useWords } from "../../parts/app_context";
import { DialogContext } from "../../parts/dialogs";
import { Icon } from "../../parts/icon";
import type { ProjectRow } from "../../wire/calls";
import { listed } from "../../words/format";
import { Section } from "./section";

export function Projects() {
  const { t } = useWords();
  const { house } = useApp();
  const { projects } = useHouse();
  const dialogs = useContext(DialogContext);
  const isOnline = useIsOnline();
  useEffect(() => {
    if (isOnline) void house.refreshProjects();
  }, [house, isOnline]);
  return (
    <Section title={t("projects")} intro={t("projectsIntro")} action={<button className="btn compact push" disabled={!isOnline} onClick={() => dialogs.open({ kind: "addProject" })}><Icon name="folder" small />{t("addProject")}</button>}>
      <ul className="rows wide-rows projects">{projects.map((project) => <Project key={project.path} project={project} name={projectName(project.path, projects)} />)}</ul>
    </Section>
  );
}

function Project({ project: { path, kind, exists, sessions }, name }: { project: ProjectRow; name: string }) {
  const { t, language } = useWords();
  const { connection, house, announcer } = useApp();
  const isOnline = useIsOnline();
  const change = (call: "register_project" | "remove_project") => (): void => {
    connection.call(call, { path }).then(() => {
      announcer.tell(t(call === "register_project" ? "projectAdded" : "projectRemoved", { path }));
      return house.projectsChanged();
    }, (error: unknown) => announcer.fail(error));
  };
  return (
    <li>
      <span className="clip"><span className="name">{name}</span><code className="clip">{path}</code></span>
      <span className="num">
        {exists ? null : <span className="bad">{t("folderMissing")}</span>}
        {listed(language, kind === "house" ? t("house") : "", t("conversationsCount", { n: sessions }))}
        {kind === "registered" ? <button className="btn compact" disabled={!isOnline} onClick={change("remove_project")}>{t("distrust")}<span className="vh"> {name}</span></button> : null}
        {kind === "used" && exists ? <button className="btn compact" disabled={!isOnline} onClick={change("register_project")}>{t("add")}<span className="vh"> {name}</span></button> : null}
      </span>
    </li>
  );
}
