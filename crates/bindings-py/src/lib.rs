//! The Python wheel swath: conversion only, no logic.
