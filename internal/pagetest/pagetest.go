// Package pagetest is for tests that run the kubectl commands of a page of docs/. Commands reads
// the commands, and a Kubectl runs them on an API server as they are written.
package pagetest

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Commands returns the kubectl commands in the section of a page under a heading, in the order of the page. A command
// is a line that begins with kubectl, and is indented by at least four spaces or in a block that begins with ```sh. The
// pairs oldnew replace names on the page by names of the test, as for strings.NewReplacer. Commands returns an error if
// the section does not exist, or has no command.
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
	fenced := false
	for line := range strings.Lines(part) {
		command := strings.TrimSpace(line)
		if strings.HasPrefix(command, "```") {
			fenced = command == "```sh"
		}
		if (fenced || strings.HasPrefix(line, "    ")) && strings.HasPrefix(command, "kubectl ") {
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
//	kubectl annotate RESOURCE NAME OPTIONS --overwrite KEY=VALUE...
//	kubectl events --for RESOURCE/NAME
//
// with the options --all-namespaces, --namespace and --selector. Resources are called
// accessrequests.clusters.openmcp.cloud, several of them with commas between them. In a value, $(date +%s) is the time.
// It is used by one goroutine.
type Kubectl struct {
	Client client.Client

	// Namespace is that of the commands that name none. If it is empty, each command has to name one, or all.
	Namespace string
}

// Run runs a command and returns its output.
func (k Kubectl) Run(ctx context.Context, command string) (string, error) {
	now := strconv.FormatInt(time.Now().Unix(), 10)
	words := split(strings.ReplaceAll(command, "$(date +%s)", now))
	if len(words) == 4 && words[0] == "kubectl" && words[1] == "events" && words[2] == "--for" && k.Namespace != "" {
		out, err := k.events(ctx, words[3])

		return out, errors.Wrapf(err, "cannot run %s", command)
	}
	c, err := parse(words, k.Namespace)
	if err != nil {
		return "", errors.Wrapf(err, "cannot run %s", command)
	}
	out, err := k.run(ctx, c)

	return out, errors.Wrapf(err, "cannot run %s", command)
}

// events returns a line for each event about an object.
func (k Kubectl) events(ctx context.Context, object string) (string, error) {
	resource, name, _ := strings.Cut(object, "/")
	gvk, err := k.kind(resource)
	if err != nil {
		return "", err
	}
	list := &eventsv1.EventList{}
	if err := k.Client.List(ctx, list, client.InNamespace(k.Namespace)); err != nil {
		return "", err
	}
	var out strings.Builder
	for _, e := range list.Items {
		if e.Regarding.Kind == gvk.Kind && e.Regarding.Name == name {
			out.WriteString(strings.Join([]string{e.Type, e.Reason, e.Regarding.Kind + "/" + name, e.Note}, " ") + "\n")
		}
	}

	return out.String(), nil
}

func (k Kubectl) kind(resource string) (schema.GroupVersionKind, error) {
	return k.Client.RESTMapper().KindFor(schema.ParseGroupResource(resource).WithVersion(""))
}

func (k Kubectl) run(ctx context.Context, c *call) (string, error) {
	all := &unstructured.UnstructuredList{Object: map[string]any{"kind": "List", "apiVersion": "v1"}}
	for _, resource := range strings.Split(c.resources, ",") {
		gvk, err := k.kind(resource)
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
	if c.name != "" {
		all.Items = slices.DeleteFunc(all.Items,
			func(u unstructured.Unstructured) bool { return u.GetName() != c.name })
		if len(all.Items) == 0 {
			return "", errors.Errorf("there is no %q", c.name)
		}
	}
	if c.verb == "annotate" {
		return "", k.annotate(ctx, all.Items, c.keys)
	}
	var out strings.Builder
	err := c.template.Execute(&out, all.UnstructuredContent())

	return out.String(), err
}

// annotate sets annotations of objects, or removes them.
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
	name                       string // of the only object; empty: all
	everywhere, overwrite      bool
	selector                   labels.Selector
	template                   *template.Template
	keys                       map[string]any // of annotations: the new value; nil: to be removed
}

func parse(words []string, namespace string) (*call, error) {
	if len(words) < 3 || words[0] != "kubectl" {
		return nil, errors.New("it is no command of kubectl with a verb and resources")
	}
	c := &call{verb: words[1], resources: words[2], selector: labels.Everything(), keys: map[string]any{}}
	for _, word := range words[3:] {
		if err := c.option(word); err != nil {
			return nil, err
		}
	}
	if !c.everywhere && c.namespace == "" {
		c.namespace = namespace
	}
	switch {
	case c.everywhere == (c.namespace != ""):
		return nil, errors.New("it names no namespace, or is for one and for all")
	case c.verb == "get" && c.template != nil && len(c.keys) == 0 && c.name == "" && !c.overwrite,
		c.verb == "annotate" && c.template == nil && len(c.keys) > 0 && c.overwrite == (c.name != ""):
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
	case word == "--overwrite":
		c.overwrite = true
	case c.overwrite && value != "" && !strings.HasPrefix(word, "-"):
		c.keys[name] = value
	case c.verb == "annotate" && c.name == "" && name == word && !strings.HasPrefix(word, "-"):
		c.name = word
	default:
		return errors.Errorf("%s is not known", word)
	}

	return err
}

// split splits a line into words, of which parts may stand in quotes.
func split(line string) (words []string) {
	var word strings.Builder
	quote := ' '
	for _, r := range line + " " {
		switch {
		case quote == ' ' && (r == '\'' || r == '"'):
			quote = r
		case quote != ' ' && r == quote:
			quote = ' '
		case r == ' ' && quote == ' ':
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
