package clusters

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/pkg/errors"
)

var (
	// yamlLine matches the line and the problem in an error of the YAML parser. Errors
	// about the first line contain no number.
	yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s+)?(?:line (\d+): )?(.*)`)

	// yamlAnchor matches the name of an anchor in an error, which does not contain its line.
	yamlAnchor = regexp.MustCompile(`(?s)^yaml: (?:unknown anchor '(.*)' referenced|anchor '(.*)' value contains itself)$`)

	// wrongType matches the field in an error about the type of a value.
	wrongType = regexp.MustCompile(
		`^(?:couldn't get version/kind; json parse error: )?json: cannot unmarshal [a-z]+(?: [-+.\deE]+)?` +
			` into Go (?:value|struct field \w*\.([\w.-]+)) of type `)

	// duplicateName matches the list in an error about a name.
	duplicateName = regexp.MustCompile(`^error converting \*\[\]Named(Cluster|AuthInfo|Context|Extension) into `)

	listOf = map[string]string{
		"Cluster": "clusters", "AuthInfo": "users", "Context": "contexts", "Extension": "extensions",
	}

	// yamlProblems are messages of the YAML parser about usual mistakes. They contain no input.
	yamlProblems = []string{
		"found a tab character that violates indentation", "found a tab character where an indentation space is expected",
		"found character that cannot start any token", "found unexpected end of stream", "found unknown escape character",
		"mapping values are not allowed in this context", "block sequence entries are not allowed in this context",
		"did not find expected key", "did not find expected node content", "did not find expected '-' indicator",
		"did not find expected ',' or ']'", "did not find expected ',' or '}'", "could not find expected ':'",
		"control characters are not allowed", "document contains excessive aliasing",
	}
)

// describeParseError returns the reason why a kubeconfig cannot be parsed, and the line or field. It does not include
// the errors of the parsers, because they contain parts of the kubeconfig, such as the name of an anchor or a kind. If
// a kubeconfig has a user twice, the error even contains all its users.
func describeParseError(data []byte, err error) string {
	said := err.Error()
	var notBase64 base64.CorruptInputError

	switch {
	case strings.HasPrefix(said, "yaml: "):
		return describeYAMLError(string(data), said)
	case runtime.IsNotRegisteredError(err), strings.HasPrefix(said, "unexpected GroupVersion string: "):
		return "apiVersion and kind are not v1 and Config"
	case errors.As(err, &notBase64):
		return "a field whose name ends with -data is not base64"
	}

	if m := duplicateName.FindStringSubmatch(said); m != nil {
		return listOf[m[1]] + " has a name twice"
	}

	switch m := wrongType.FindStringSubmatch(said); {
	case m == nil:
		return "it is not a kubeconfig"
	case m[1] == "":
		return "it is not a mapping"
	default:
		return m[1] + " is of the wrong type"
	}
}

// describeYAMLError returns the problem that the YAML parser has found, without text from the kubeconfig.
func describeYAMLError(data, said string) string {
	if m := yamlAnchor.FindStringSubmatch(said); m != nil {
		if m[1] != "" {
			return lineOf(data, "*"+m[1]) + "an alias without its anchor: put quotes round a value that begins with *"
		}

		return lineOf(data, "&"+m[2]) + "an anchor that contains itself"
	}

	m := yamlLine.FindStringSubmatch(said)
	problem := "it is not valid YAML"

	if slices.Contains(yamlProblems, m[2]) {
		problem = m[2]
	}

	if m[1] != "" {
		problem = fmt.Sprintf("line %s: %s", m[1], problem)
	}

	return problem
}

// lineOf returns the line that contains the first occurrence of a text.
func lineOf(data, text string) string {
	before, _, found := strings.Cut(data, text)
	if !found {
		return ""
	}

	return fmt.Sprintf("line %d: ", strings.Count(before, "\n")+1)
}
