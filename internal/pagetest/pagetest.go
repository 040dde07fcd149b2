// Package pagetest is for tests that run the kubectl commands of a page of docs/. Commands reads
// the commands, and a Kubectl runs them on an API server as they are written.
package pagetest

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Commands returns the kubectl commands in the section of a page under a heading, in the order of the page. A command
// is a line that is indented by at least four spaces and begins with kubectl. The pairs oldnew replace names on the
// page by names of the test, as for strings.NewReplacer. Commands returns an error if the section does not exist, or
// has no command.
func Commands(page, heading string, oldnew ...string) ([]string, error) {
	text, err := os.ReadFile(page) // a test names the page
	if err != nil {
		return nil, err
	}
	_, part, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		return nil, errors.Errorf("%s has no part %q", page, heading)
	}
	part, _, _ = strings.Cut(part, "\n#")
	var commands []string
	for line := range strings.Lines(part) {
		command := strings.TrimSpace(line)
		if strings.HasPrefix(line, "    ") && strings.HasPrefix(command, "kubectl ") {
			commands = append(commands, strings.NewReplacer(oldnew...).Replace(command))
		}
	}
	if len(commands) == 0 {
		return nil, errors.Errorf("%s has no command under %q", page, heading)
	}

	return commands, nil
}

// A Kubectl stands in for the program of that name, which not every machine has. It knows
//
//	kubectl get RESOURCES OPTIONS --output=go-template=TEMPLATE
//	kubectl annotate RESOURCES OPTIONS KEY-...
//
// with the options --all-namespaces, --namespace and --selector. Resources are called
// accessrequests.clusters.openmcp.cloud, several of them with commas between them. It is used by one
// goroutine.
type Kubectl struct{ Client client.Client }

// Run runs a command and returns its output.
func (k Kubectl) Run(ctx context.Context, command string) (string, error) {
	c, err := parse(command)
	if err != nil {
		return "", errors.Wrapf(err, "cannot run %s", command)
	}
	out, err := k.run(ctx, c)

	return out, errors.Wrapf(err, "cannot run %s", command)
}

func (k Kubectl) run(ctx context.Context, c *call) (string, error) {
	all := &unstructured.UnstructuredList{Object: map[string]any{"kind": "List", "apiVersion": "v1"}}
	for _, resource := range strings.Split(c.resources, ",") {
		gvk, err := k.Client.RESTMapper().KindFor(schema.ParseGroupResource(resource).WithVersion(""))
		if err != nil {
			return "", err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := k.Client.List(ctx, list, client.InNamespace(c.namespace),
			client.MatchingLabelsSelector{Selector: c.selector}); err != nil {
			return "", err
		}
		all.Items = append(all.Items, list.Items...)
	}
	if c.verb == "annotate" {
		return "", k.annotate(ctx, all.Items, c.keys)
	}
	var out strings.Builder
	err := c.template.Execute(&out, all.UnstructuredContent())

	return out.String(), err
}

// annotate removes annotations from objects.
func (k Kubectl) annotate(ctx context.Context, objects []unstructured.Unstructured, keys map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": keys}})
	if err != nil {
		return err
	}
	for i := range objects {
		if err := k.Client.Patch(ctx, &objects[i], client.RawPatch(types.MergePatchType, patch)); err != nil {
			return err
		}
	}

	return nil
}

// A call is a command that was read.
type call struct {
	verb, resources, namespace string
	everywhere                 bool
	selector                   labels.Selector
	template                   *template.Template
	keys                       map[string]any // of annotations, to be removed: nil
}

func parse(command string) (*call, error) {
	words := split(command)
	if len(words) < 3 || words[0] != "kubectl" {
		return nil, errors.New("it is no command of kubectl with a verb and resources")
	}
	c := &call{verb: words[1], resources: words[2], selector: labels.Everything(), keys: map[string]any{}}
	for _, word := range words[3:] {
		if err := c.option(word); err != nil {
			return nil, err
		}
	}
	switch {
	case c.everywhere == (c.namespace != ""):
		return nil, errors.New("it names no namespace, or is for one and for all")
	case c.verb == "get" && c.template != nil && len(c.keys) == 0,
		c.verb == "annotate" && c.template == nil && len(c.keys) > 0:
		return c, nil
	default:
		return nil, errors.New("it is of a form that is not known")
	}
}

func (c *call) option(word string) (err error) {
	name, value, _ := strings.Cut(word, "=")
	switch {
	case word == "--all-namespaces":
		c.everywhere = true
	case name == "--namespace":
		c.namespace = value
	case name == "--selector":
		c.selector, err = labels.Parse(value)
	case strings.HasPrefix(word, "--output=go-template="):
		c.template, err = template.New("").Parse(strings.TrimPrefix(word, "--output=go-template="))
	case c.verb == "annotate" && strings.HasSuffix(word, "-") && !strings.HasPrefix(word, "-"):
		c.keys[strings.TrimSuffix(word, "-")] = nil
	default:
		return errors.Errorf("%s is not known", word)
	}

	return err
}

// split splits a line into words, of which parts may stand in single quotes.
func split(line string) (words []string) {
	var word strings.Builder
	quoted := false
	for _, r := range line + " " {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == ' ' && !quoted:
			if word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
		default:
			word.WriteRune(r)
		}
	}

	return words
}
