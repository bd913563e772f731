//! What is known of references besides a URL.

use crate::remote::{TextOptions, options_of, texts};
use std::sync::Arc;
use swath::{CloudOptions, Error, ReferenceTargets, Store};

/// What `swath.stores` finds out, and pickles hold: the document where the references are no object of their own, the scheme of
/// targets that are named without one, the target of references that name none, and the options of targets.
pub(crate) type TextReferences = (Option<String>, Option<String>, Option<String>, Option<TextOptions>);

/// References, and how their targets are reached.
#[derive(Clone)]
pub(crate) struct References {
    /// In JSON, where they are no object of their own: the URL is then no more than their name.
    document: Option<Arc<str>>,
    scheme: Option<String>,
    default: Option<String>,
    /// Those of targets, where they are others than those of the document.
    options: Option<CloudOptions>,
}

impl References {
    /// # Errors
    ///
    /// `Unsupported` for an option that is not known.
    pub(crate) fn new((document, scheme, default, options): TextReferences) -> Result<References, Error> {
        let options = options.map(options_of).transpose()?;
        Ok(References { document: document.map(Arc::from), scheme, default, options })
    }

    /// Whether they are the same references, whatever the secrets of the options.
    pub(crate) fn is_same(&self, other: &References) -> bool {
        let public =
            |references: &References| references.options.as_ref().map(|options| options.without_secrets().0);
        self.document == other.document
            && self.scheme == other.scheme
            && self.default == other.default
            && public(self) == public(other)
    }

    /// The store of the references that lie at a URL, or are at hand.
    pub(crate) fn store(
        &self,
        url: &str,
        options: &CloudOptions,
        with_credentials: impl Fn(&CloudOptions) -> CloudOptions,
    ) -> Result<Store, Error> {
        let mut targets = ReferenceTargets::new();
        if let Some(scheme) = &self.scheme {
            targets = targets.with_scheme(scheme);
        }
        if let Some(default) = &self.default {
            targets = targets.with_default(default);
        }
        if let Some(options) = &self.options {
            targets = targets.with_options(with_credentials(options));
        }
        match &self.document {
            None => Store::open_references(url, options, targets),
            Some(document) => {
                let own = self.options.is_none().then(|| options.clone());
                let targets = own.into_iter().fold(targets, ReferenceTargets::with_options);
                Store::references(document.as_bytes(), targets, url)
            }
        }
    }

    /// What a pickle may hold; the names of secrets are added to those that it leaves out.
    pub(crate) fn portable(&self, withheld: &mut Vec<String>) -> TextReferences {
        let options = self.options.as_ref().map(|options| {
            let (open, secret) = options.without_secrets();
            withheld.extend(secret.iter().map(|name| format!("remote_options.{name}")));
            texts(&open)
        });
        let document = self.document.as_deref().map(str::to_owned);
        (document, self.scheme.clone(), self.default.clone(), options)
    }
}
