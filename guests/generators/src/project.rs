//! The words of project descriptions: names of elements and attributes, and values that occur in them.

/// The dictionary for `guests/subjects/libxml2-xsd`: every name in its schema, and the words that its values need.
///
/// Modelled on the words that Zest's evaluation collected for Maven, of which there were 141; like there, some are
/// not names.
#[rustfmt::skip]
pub const PROJECT: &[&str] = &[
    "project", "modelVersion", "parent", "relativePath", "groupId", "artifactId", "version", "packaging", "name",
    "description", "url", "inceptionYear", "organization", "licenses", "license", "distribution", "comments",
    "developers", "developer", "contributors", "contributor", "id", "email", "organizationUrl", "roles", "role",
    "timezone", "properties", "mailingLists", "mailingList", "subscribe", "unsubscribe", "post", "archive",
    "otherArchives", "otherArchive", "prerequisites", "maven", "modules", "module", "scm", "connection",
    "developerConnection", "tag", "issueManagement", "system", "ciManagement", "notifiers", "notifier", "type",
    "sendOnError", "sendOnFailure", "sendOnSuccess", "sendOnWarning", "address", "configuration",
    "distributionManagement", "repository", "snapshotRepository", "site", "downloadUrl", "relocation", "message",
    "status", "repositories", "pluginRepositories", "pluginRepository", "releases", "snapshots", "enabled",
    "updatePolicy", "checksumPolicy", "layout", "uniqueVersion", "dependencyManagement", "dependencies", "dependency",
    "classifier", "scope", "systemPath", "exclusions", "exclusion", "optional", "build", "sourceDirectory",
    "scriptSourceDirectory", "testSourceDirectory", "outputDirectory", "testOutputDirectory", "extensions",
    "extension", "defaultGoal", "resources", "resource", "testResources", "testResource", "targetPath", "filtering",
    "directory", "includes", "include", "excludes", "exclude", "finalName", "filters", "filter", "pluginManagement",
    "plugins", "plugin", "executions", "execution", "phase", "goals", "goal", "inherited", "reporting",
    "excludeDefaults", "reportPlugins", "reportPlugin", "reportSets", "reportSet", "reports", "report", "profiles",
    "profile", "activation", "activeByDefault", "jdk", "os", "family", "arch", "property", "file", "exists", "missing",
    "value", "combine.children", "combine.self",
    "4.0.0", "1.0", "2026", "jar", "pom", "war", "compile", "test", "runtime", "provided", "true", "false", "default",
    "always", "daily", "never", "warn", "fail", "append", "merge", "override", "http://example.org/", "${version}",
    "../pom.xml", "a < b & c", "",
];

#[cfg(test)]
mod tests {
    use super::PROJECT;

    #[test]
    fn every_word_is_there_once() {
        let mut words = PROJECT.to_vec();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), PROJECT.len());
    }

    #[test]
    fn the_schema_uses_no_other_names() {
        let schema = include_str!("../../subjects/libxml2-xsd/project.xsd");
        let mut names = 0;
        for declaration in ["<xs:element name=\"", "<xs:attribute name=\""] {
            for rest in schema.split(declaration).skip(1) {
                let name = rest.split('"').next().unwrap_or_default();
                assert!(PROJECT.contains(&name), "{name}");
                names += 1;
            }
        }
        assert!(names > 100, "{names}");
    }
}
