package scaffold

import (
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	moduleElement = regexp.MustCompile(`^[A-Za-z0-9_~-]([A-Za-z0-9._~-]*[A-Za-z0-9_~-])?$`)
	majorVersion  = regexp.MustCompile(`^v[0-9]+$`)
	dnsLabel      = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	apiVersion    = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	kindName      = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

const (
	maxLabel = 63
	maxGroup = 253
	maxKind  = 50 // the names of its list, its lease and its controller have to fit, too
)

func checkModule(path string) error {
	elements := strings.Split(path, "/")

	for _, e := range elements {
		if !moduleElement.MatchString(e) {
			return fmt.Errorf(
				"%q is no path of a Go module: give one as in example.org/provider-cloud, with letters, digits, and . _ ~ - "+
					"inside its elements", path)
		}
	}

	if first := elements[0]; !strings.Contains(first, ".") || first != strings.ToLower(first) {
		return fmt.Errorf(
			"the module %q has to begin with a domain, as in example.org/provider-cloud, or go get could not find it", path)
	}

	if len(elements) < 2 || len(elements) == 2 && majorVersion.MatchString(elements[1]) {
		return fmt.Errorf("the module %q is a domain alone: add the name of the provider, as in %s/provider-cloud", path,
			elements[0])
	}

	return nil
}

// checkName checks the name of the provider that the module implies.
func checkName(p Project) error {
	if name := p.Name(); !dnsLabel.MatchString(name) || len(name) > maxLabel {
		return fmt.Errorf(
			"the provider would be called %q, after its module: its role and its lease need lower-case letters, digits and "+
				"hyphens, at most %d; let the module end otherwise", name, maxLabel)
	}

	return nil
}

func checkGroup(group string) error {
	labels := strings.Split(group, ".")
	for _, l := range labels {
		if !dnsLabel.MatchString(l) || len(l) > maxLabel {
			return fmt.Errorf("%q is no API group: give a domain in lower case, as in cloud.example.org", group)
		}
	}

	switch {
	case len(labels) < 2:
		return fmt.Errorf("the API group %q needs a domain of yours, as in %s.example.org", group, group)
	case len(group) > maxGroup:
		return fmt.Errorf("the API group %.20q... is longer than %d characters: choose a shorter one", group, maxGroup)
	case belongsTo(group, "k8s.io") || belongsTo(group, "kubernetes.io"):
		return fmt.Errorf("the API group %q is reserved for Kubernetes: choose one below a domain of yours", group)
	default:
		return nil
	}
}

func belongsTo(group, domain string) bool {
	return group == domain || strings.HasSuffix(group, "."+domain)
}

func checkVersion(version string) error {
	if !apiVersion.MatchString(version) {
		return fmt.Errorf("%q is no API version: give one as in v1alpha1, v1beta2 or v1", version)
	}

	return nil
}

// A taken list has kinds that cannot be made, for one reason.
type taken struct {
	why   string
	kinds []string
}

// reserved returns the kinds whose names are taken, in any case of their letters.
func reserved() []taken {
	return []taken{
		{"the package of its type already has a declaration or a file with that name", []string{
			"AddToScheme", "ClusterProviderConfig", "Endpoint", "GroupVersion", "NamespacedSecretKeyReference", "ProviderConfig",
			"ProviderConfigReference", "Resource", "SecretKeyReference", "UsernameKey",
		}},
		{"the package internal/api already has a declaration or a file with that name", []string{
			"AllowHosts", "Answer", "As", "Client", "Fake", "New", "Option", "Thing",
		}},
		{"a generated test already has the file of that name", []string{
			"Conformance", "Deploy", "Examples", "Metrics", "Restored", "Sample",
		}},
		{"Go gives a package or a folder of that name another meaning", []string{"Init", "Main", "Testdata", "Vendor"}},
		{"kubectl takes that name for a kind of Kubernetes", []string{
			"ConfigMap", "CustomResourceDefinition", "Event", "Lease", "Namespace", "Node", "Pod", "Secret", "Service",
		}},
	}
}

// checkReserved returns an error, written for users, for a kind whose name is taken.
func (k Kind) checkReserved() error {
	all := reserved()
	if k.Password {
		all = append(all, taken{"a kind with a password already has the file password.go", []string{"Password"}})
	}

	for _, t := range all {
		if slices.ContainsFunc(t.kinds, func(taken string) bool { return strings.EqualFold(taken, k.Kind) }) {
			return fmt.Errorf(
				"the kind %s is reserved, because %s: choose another, perhaps with the name of the API before it, as in Cloud%s",
				k.Kind, t.why, k.Kind)
		}
	}

	return nil
}

// Reserved describes the kinds that cannot be added, for users.
func Reserved() string {
	var out []string
	for _, t := range reserved() {
		out = append(out, fmt.Sprintf("%s (%s)", strings.Join(t.kinds, ", "), t.why))
	}

	return strings.Join(out, "; ")
}

// fields are those that the generated types of each kind have.
var fields = []string{"ID", "Size", "State", "Owner", "Token", "Password"}

func (k Kind) check() error {
	lower := strings.ToLower(k.Kind)

	switch {
	case !kindName.MatchString(k.Kind):
		return fmt.Errorf(
			"%q is no kind: give a singular noun that begins with a capital letter, as in Bucket, of letters and digits", k.Kind)
	case len(k.Kind) > maxKind:
		return fmt.Errorf("the kind %.20s... is longer than %d characters: choose a shorter one", k.Kind, maxKind)
	case token.IsKeyword(lower):
		return fmt.Errorf("the kind %s is a keyword of Go in lower case, which is the name of its package: choose another",
			k.Kind)
	case !slices.Contains(Classes(), k.Class):
		return fmt.Errorf("%q is no class: give named, token, findable or opaque", k.Class)
	}

	if err := k.checkReserved(); err != nil {
		return err
	}

	if k.ConnectionDetails && k.ClusterScoped {
		return fmt.Errorf("the kind %s is cluster-scoped, and a connection Secret is in the namespace of its object: "+
			"leave out one of both", k.Kind)
	}

	if k.Password && !k.ConnectionDetails {
		return fmt.Errorf("the kind %s has a password, and publishes no connection details: set connectionDetails, too",
			k.Kind)
	}

	for _, suffix := range []string{"List", "Spec", "Status", "Parameters", "Observation", "Kind"} {
		if strings.HasSuffix(k.Kind, suffix) {
			return fmt.Errorf("the kind %s ends in %s, as types that belong to a kind do: choose another", k.Kind, suffix)
		}
	}

	return checkVersion(k.Version)
}

// plural returns the plural of a kind in the API.
func plural(kind string) string {
	lower := strings.ToLower(kind)

	switch {
	case strings.HasSuffix(lower, "s"), strings.HasSuffix(lower, "x"), strings.HasSuffix(lower, "z"),
		strings.HasSuffix(lower, "ch"), strings.HasSuffix(lower, "sh"):
		return lower + "es"
	case len(lower) > 1 && strings.HasSuffix(lower, "y") &&
		!strings.ContainsAny(lower[len(lower)-2:len(lower)-1], "aeiou"):
		return strings.TrimSuffix(lower, "y") + "ies"
	default:
		return lower + "s"
	}
}

// lowerCamel returns a kind with its first letters in lower case: dnsZone for DNSZone.
func lowerCamel(kind string) string {
	n := 1
	for n < len(kind) && unicode.IsUpper(rune(kind[n])) && (n+1 == len(kind) || unicode.IsUpper(rune(kind[n+1]))) {
		n++
	}

	return strings.ToLower(kind[:n]) + kind[n:]
}

// article returns the article that goes with the sound of a noun.
func article(noun string) string {
	if vowel.MatchString(noun) && !consonant.MatchString(noun) {
		return "an"
	}

	return "a"
}

var (
	// vowel matches nouns that begin with the sound of a vowel. The names of these letters do, in nouns that are
	// spelled: SSHKey, but not Share.
	vowel = regexp.MustCompile(`^([AEFHILMNORSX]([A-Z0-9]|$)|[AEIOUaeiou]|(?i:hour|heir|honest|honor))`)

	// consonant matches nouns whose first letter is a vowel, and whose first sound is not:
	// User, Unit, OneShot, EuroCard, UID.
	consonant = regexp.MustCompile(`^(U([A-Z0-9]|$)|(?i:eu|one|once|us[aeiu]|uti|ubi|unis|unit|uniq|unio|univ|unic|unif))`)
)
