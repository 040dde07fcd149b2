package managed

import (
	stderrors "errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// checkOptions returns the errors of [validate] for options, without making a [Reconciler].
func checkOptions(m manager.Manager, options []ReconcilerOption) error {
	r := &Reconciler{config: defaultConfig(m)}
	for _, option := range options {
		option(r)
	}

	return validate(&r.config)
}

// validate returns an error for each option that contradicts another option, and for each undefined value of an
// option, joined. A combination or value that is documented is no error, for example that the last one wins.
func validate(c *config) error {
	return stderrors.Join(
		checkCollaborators(c),
		checkCreation(c.creationConfig),
		checkSupported(c.objectConfig),
		checkPredecessors(c.objectConfig),
		checkWrites(c.objectConfig),
	)
}

// checkCollaborators returns an error for each option with a nil value that a pass would call.
func checkCollaborators(c *config) error {
	wrapped, isWrapped := c.connecter.(*NopDisconnecter)
	var all []error
	for _, option := range []struct {
		name    string
		missing bool
	}{
		{"WithExternalConnecter", isWrapped && (wrapped == nil || wrapped.c == nil)},
		{"WithExternalConnectDisconnecter", c.connecter == nil},
		{"WithInitializers", slices.Contains(c.initializers, nil)},
		{"WithWatch", slices.ContainsFunc(c.watches, func(w watch) bool { return w.object == nil || w.handler == nil })},
		{"WithCluster", c.cluster == nil},
		{"WithLogger", c.log == nil},
		{"WithRecorder", c.recorder == nil},
		{"WithClock", c.clock == nil},
		{"WithRandom", c.random == nil},
	} {
		if option.missing {
			all = append(all, errors.Errorf("%s was given nil: give a value, or remove the option", option.name))
		}
	}

	return stderrors.Join(all...)
}

// checkCreation returns the errors in the options about creation and adoption.
func checkCreation(c creationConfig) error {
	var all []error
	if c.named && c.tokens {
		all = append(all, errors.New("WithDeterministicExternalName contradicts WithCreationTokens: keep the former if the "+
			"external name is that of the object, and the latter if the external system assigns names and knows the token"))
	}
	if c.adoptionPolicy != "" && !knownAdoption(c.adoptionPolicy) {
		all = append(all, unknownAdoption("WithAdoptionPolicy", c.adoptionPolicy))
	}
	for _, policy := range c.allowedAdoptionPolicies {
		if !knownAdoption(policy) {
			all = append(all, unknownAdoption("WithAllowedAdoptionPolicies", policy))
		}
	}

	return stderrors.Join(all...)
}

func knownAdoption(policy string) bool {
	_, known := adoptions[policy]

	return known
}

func unknownAdoption(option, policy string) error {
	return errors.Errorf("%s has the unknown policy %.64q: give one of %s", option, policy,
		strings.Join(slices.Sorted(maps.Keys(adoptions)), ", "))
}

// checkSupported returns an error for each set of management policies that no object can have.
func checkSupported(c objectConfig) error {
	var all []error
	for _, set := range c.supported {
		if err := set.Validate(); err != nil {
			all = append(all, errors.Wrap(err, "WithSupportedManagementPolicies has a set that no object can have"))
		}
	}

	return stderrors.Join(all...)
}

// checkPredecessors returns an error for each option that names a finalizer or annotation of this runtime as that of
// a predecessor.
func checkPredecessors(c objectConfig) error {
	var all []error
	for _, domain := range c.predecessors {
		switch {
		case domain == "" || strings.Contains(domain, "/"):
			all = append(all, errors.Errorf("WithPredecessor has %.64q, which is no domain of annotations: give one such as "+
				`"crossplane.io"`, domain))
		case isOwnDomain(domain):
			all = append(all, errors.Errorf("WithPredecessor has the domain %s, in which this runtime stores its own "+
				"annotations: remove the option", domain))
		}
	}
	if c.finalizer == nil && slices.Contains(c.retired.finalizers, FinalizerName) {
		all = append(all, errors.Errorf("WithRetiredFinalizers has %s, which this reconciler adds: remove it there, or "+
			"give another finalizer by WithFinalizer", FinalizerName))
	}
	for _, key := range c.retired.annotations {
		if ownedAnnotations[key] {
			all = append(all, errors.Errorf("WithRetiredAnnotations has %s, which this reconciler writes itself: "+
				"remove it there", key))
		}
	}

	return stderrors.Join(all...)
}

// isOwnDomain reports whether the reconciler writes annotations of the domain.
func isOwnDomain(domain string) bool {
	for key := range ownedAnnotations {
		if strings.HasPrefix(key, domain+"/") {
			return true
		}
	}

	return false
}

// checkWrites returns an error for each value that cannot be written anywhere.
func checkWrites(c objectConfig) error {
	var all []error
	for _, path := range c.volatile {
		if slices.Contains(path, "") {
			all = append(all, errors.Errorf("WithVolatileStatus has %.64q, which is no path of a field: give one such as "+
				`"atProvider.messages"`, path.String()))
		}
	}
	if slices.Contains([]corev1.SecretType{
		corev1.SecretTypeBasicAuth, corev1.SecretTypeDockercfg, corev1.SecretTypeDockerConfigJson,
		corev1.SecretTypeServiceAccountToken, corev1.SecretTypeSSHAuth, corev1.SecretTypeTLS,
	}, c.secretType) {
		all = append(all, errors.Errorf("WithConnectionSecretType has %s, for which the API server requires keys that "+
			"connection details may lack: give a type without required keys", c.secretType))
	}

	return stderrors.Join(all...)
}
